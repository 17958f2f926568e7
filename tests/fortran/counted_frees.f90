! Counts the plans that are freed: the program is linked with --wrap=spanfft_plan_free, so that its calls come here.
module counted_frees
    use, intrinsic :: iso_c_binding
    implicit none
    integer :: freed = 0

    interface
        subroutine really_free(plan) bind(C, name="__real_spanfft_plan_free")
            import
            type(c_ptr), value :: plan
        end subroutine really_free
    end interface

contains

    subroutine count_free(plan) bind(C, name="__wrap_spanfft_plan_free")
        type(c_ptr), value :: plan
        freed = freed + 1
        call really_free(plan)
    end subroutine count_free
end module counted_frees
