// Parts of a batch, one for each thread; see shared_batch.hpp.
#include "engine/shared_batch.hpp"

#include <algorithm>
#include <vector>

#include "core/shared_team.hpp"
#include "engine/spec.hpp"

namespace spanfft {

namespace {

constexpr index_t kLeastLines = 4;  // for a thread; parts begin at multiples, so that all are aligned like the first

std::vector<LoopDim>::iterator longest_loop(LocalSpec& spec) {
    return std::max_element(spec.batch.begin(), spec.batch.end(),
                            [](const LoopDim& a, const LoopDim& b) { return a.n < b.n; });
}

class SharedBatchFft : public LocalFft {
  public:
    static Result<std::unique_ptr<LocalFft>> make(const Engine& engine, LocalSpec spec) {
        auto made = std::make_unique<SharedBatchFft>();
        made->team_ = SharedTeam::of(spec.threads);
        const index_t members = made->team_ ? made->team_->size() : 1;
        spec.threads = 1;
        LoopDim& loop = *longest_loop(spec);
        const index_t lines = loop.n, part = round_up(ceil_div(lines, members), kLeastLines);
        for (index_t first = 0; first < lines; first += part) {
            loop.n = std::min(part, lines - first);
            SPANFFT_ASSIGN(auto fft, engine.plan(spec));
            made->parts_.push_back({std::move(fft),
                                    first * loop.in_stride * static_cast<index_t>(input_type(spec).bytes()),
                                    first * loop.out_stride * static_cast<index_t>(output_type(spec).bytes())});
        }
        return std::unique_ptr<LocalFft>(std::move(made));
    }

    void execute(const void* in, void* out) const override {
        const auto one = [&](size_t i) {
            const Part& part = parts_[i];
            part.fft->execute(static_cast<const char*>(in) + part.in_bytes, static_cast<char*>(out) + part.out_bytes);
        };
        if (!team_) return one(0);
        team_->run([&](int member) {
            if (static_cast<size_t>(member) < parts_.size()) one(static_cast<size_t>(member));
        });
    }

  private:
    struct Part {
        std::unique_ptr<LocalFft> fft;
        index_t in_bytes, out_bytes;  // where it begins
    };
    std::unique_ptr<SharedTeam> team_;  // nullptr: the system gave no thread
    std::vector<Part> parts_;
};

}  // namespace

bool worth_sharing(const LocalSpec& asked) {
    LocalSpec spec = canonical(asked);
    return spec.threads > 1 && !spec.batch.empty() && longest_loop(spec)->n >= kLeastLines * spec.threads;
}

Result<std::unique_ptr<LocalFft>> plan_shared_batch(const Engine& engine, const LocalSpec& spec) {
    return SharedBatchFft::make(engine, canonical(spec));
}

}  // namespace spanfft
