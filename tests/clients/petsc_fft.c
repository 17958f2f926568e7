/* PETSc's FFT matrices (MatCreateFFT, which plans by FFTW's MPI library): a tone in, one spectral line out, and a
 * random vector there and back. Prints "ok" or "wrong" for each; tests/clients/petsc.py preloads ours and counts. */
#include <petscmat.h>

static PetscErrorCode report(const char* what, PetscInt ndim, PetscReal error, PetscReal limit) {
    PetscFunctionBeginUser;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %d axes, %s: error %.1e\n", error <= limit ? "ok" : "wrong", (int)ndim,
                          what, (double)error));
    PetscFunctionReturn(0);
}

/* x[j] = exp(2 pi i sum_k j_k (k + 1) / n_k); PETSc's vectors of MATFFTW are in FFTW's order, the last axis fastest. */
static PetscErrorCode fill_tone(Vec x, PetscInt ndim, const PetscInt n[]) {
    PetscInt begin, end;
    PetscScalar* values;
    PetscFunctionBeginUser;
    PetscCall(VecGetOwnershipRange(x, &begin, &end));
    PetscCall(VecGetArray(x, &values));
    for (PetscInt at = begin; at < end; at++) {
        PetscInt rest = at;
        PetscReal turns = 0;
        for (PetscInt k = ndim - 1; k >= 0; k--) turns += (PetscReal)(rest % n[k] * (k + 1)) / n[k], rest /= n[k];
        values[at - begin] = PetscExpComplex(2 * PETSC_PI * PETSC_i * turns);
    }
    PetscCall(VecRestoreArray(x, &values));
    PetscFunctionReturn(0);
}

/* The largest difference from N at (1, 2, ...) and 0 elsewhere. */
static PetscErrorCode line_error(Vec y, PetscInt ndim, const PetscInt n[], PetscInt total, PetscReal* error) {
    PetscInt begin, end, line = 0;
    PetscScalar* values;
    PetscFunctionBeginUser;
    for (PetscInt k = 0; k < ndim; k++) line = line * n[k] + k + 1;
    PetscCall(VecGetOwnershipRange(y, &begin, &end));
    PetscCall(VecGetArray(y, &values));
    if (line >= begin && line < end) values[line - begin] -= total;
    PetscCall(VecRestoreArray(y, &values));
    PetscCall(VecNorm(y, NORM_INFINITY, error));
    *error /= total;
    PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
    const PetscInt n[4] = {12, 9, 10, 7};
    PetscInt total = 1;
    PetscRandom random;
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    for (PetscInt ndim = 1; ndim <= 4; ndim++) {
        Mat fft;
        Vec x, y, z;
        PetscReal error;
        total *= n[ndim - 1];
        PetscCall(MatCreateFFT(PETSC_COMM_WORLD, ndim, n, MATFFTW, &fft));
        PetscCall(MatCreateVecsFFTW(fft, &x, &y, &z));
        PetscCall(fill_tone(x, ndim, n));
        PetscCall(MatMult(fft, x, y));
        PetscCall(line_error(y, ndim, n, total, &error));
        PetscCall(report("a tone", ndim, error, 1e-14));
        PetscCall(VecSetRandom(x, random));
        PetscCall(MatMult(fft, x, y));
        PetscCall(MatMultTranspose(fft, y, z));
        PetscCall(VecAXPY(z, -total, x));
        PetscCall(VecNorm(z, NORM_INFINITY, &error));
        PetscCall(report("there and back", ndim, error / total, 1e-14));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&y));
        PetscCall(VecDestroy(&z));
        PetscCall(MatDestroy(&fft));
    }
    PetscCall(PetscRandomDestroy(&random));
    return PetscFinalize();
}
