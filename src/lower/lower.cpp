// Slots and steps; see lower.hpp.
#include "lower/lower.hpp"

#include <algorithm>
#include <cassert>

#include "exchange/exchange.hpp"
#include "steps/butterfly_step.hpp"
#include "steps/columns_step.hpp"
#include "steps/exchange_step.hpp"
#include "steps/padded_step.hpp"
#include "steps/pipelined_step.hpp"
#include "steps/segment_step.hpp"
#include "steps/shared_transform_step.hpp"
#include "steps/split_step.hpp"
#include "steps/transpose_step.hpp"

namespace spanfft {

namespace {

using Type = RouteOp::Type;

Route::iterator first_not_view(Route& route) {
    return std::find_if(route.begin(), route.end(), [](const RouteOp& op) { return op.type != Type::view; });
}

// c2r over several axes destroys what it reads (in every FFTW-like library), which must not be the user's input: of its
// c2c axes all but one are done first, out of place; or the only one; or, if there is none, the input is copied. The
// last two axes of several stay together, as engines take them plane by plane in one sweep of memory.
void protect_input(Route& route) {
    const auto first = first_not_view(route);
    if (first->type != Type::transform || first->kernel != Kernel::c2r || first->modes > 0) return;
    RouteOp before = copy_of(first->from);
    if (first->axes.size() > 1) {
        const auto end = first->axes.end() - (first->axes.size() > 2 ? 2 : 1);
        before.type = Type::transform;
        before.kernel = Kernel::c2c_backward;
        before.axes.assign(first->axes.begin(), end);
        first->axes.erase(first->axes.begin(), end);
    }
    route.insert(first, std::move(before));
}

// Whether all ranks must see the array before operation `at` (route.size(): after the last).
bool seen_by_all(const Route& route, size_t at) {
    if (at > 0 && route[at - 1].writes_all_parts()) return true;
    while (at < route.size() && route[at].type == Type::view) ++at;
    return at < route.size() && route[at].reads_all_parts();
}

// Finds the operations that leave their result elsewhere than where their source is, in order, and adds the copies that
// are needed around them.
class Movers {
  public:
    Movers(Route& route, const Problem& problem)
        : route_(route), in_place_(problem.in_place), own_(problem.own_output), own_input_(problem.own_input) {
        find();
        if (ends_unseen()) leave_window();
        if (in_place_ && found_.size() == 1) add_second();
    }
    const std::vector<size_t>& found() const { return found_; }

  private:
    void find() {
        bool users = true;  // the array lies where the user put it
        for (size_t i = 0; i < route_.size(); ++i) {
            if (route_[i].type == Type::view) continue;
            if (users && !own_input_ && route_[i].reads_all_parts()) route_.insert(at(i), copy_of(route_[i].from));
            const bool must_leave = users && (!in_place_ || seen_by_all(route_, i + 1));
            if (!must_leave && (route_[i].can_stay() || (in_place_ && users && route_[i].is_one_line()))) continue;
            found_.push_back(i);
            users = false;
        }
    }

    // The array stays in the output from the last of them on, where all ranks must see it and don't.
    bool ends_unseen() const {
        if (own_ || found_.empty()) return false;
        for (size_t i = found_.back() + 1; i <= route_.size(); ++i) {
            if (seen_by_all(route_, i)) return true;
        }
        return false;
    }

    // Whether the operation can leave its result in the output although it needs not.
    bool can_move(size_t i) const {
        const RouteOp& op = route_[i];
        return !op.share && (op.type == Type::transform || op.type == Type::butterfly || op.type == Type::columns);
    }

    // Into the output: by the last operation, where that can, or else by a copy.
    void leave_window() {
        size_t last = route_.size() - 1;
        while (route_[last].type == Type::view) --last;
        last > found_.back() && can_move(last) ? found_.push_back(last) : append_copy();
    }

    // In place one operation alone would read and write the same memory. Another that could stay goes on from there, or
    // comes before; else the result is copied back.
    void add_second() {
        for (size_t i = route_.size(); i-- > 0;) {
            if (i == found_[0] || !can_move(i)) continue;
            found_.insert(i < found_[0] ? found_.begin() : found_.end(), i);
            return;
        }
        append_copy();
    }

    void append_copy() {
        route_.push_back(copy_of(route_.back().to));
        found_.push_back(route_.size() - 1);
    }

    Route::iterator at(size_t i) { return route_.begin() + static_cast<std::ptrdiff_t>(i); }

    Route& route_;
    const bool in_place_, own_, own_input_;
    std::vector<size_t> found_;
};

// True if `state` fits where `area` does, on every rank.
bool fits(const ArrayState& state, const ArrayState& area) {
    const RankClasses classes({&state.layout, &area.layout});
    for (int rank : classes.representatives()) {
        if (state.local_bytes(rank) > area.local_bytes(rank)) return false;
    }
    return true;
}

// The strategy of each move.
class MoveStrategies {
  public:
    // `text` names one for each move of the forward route, or one for all.
    MoveStrategies(const std::string& text, size_t moves, bool forward)
        : names_(split_exchanges(text)), moves_(moves), forward_(forward) {}
    size_t moves() const { return moves_; }
    ExchangeChoice of(size_t move) const {
        return find_exchange(names_.size() == 1 ? names_[0] : names_[forward_ ? move : moves_ - 1 - move]);
    }
    ExchangeChoice last() const { return find_exchange(names_.back()); }  // of the forward route

  private:
    std::vector<std::string> names_;
    size_t moves_;
    bool forward_;
};

// Whether what mover m leaves is still read while the move after mover m + 1 writes: columns that are turned and sent
// chunk by chunk.
bool read_while_moved(const Route& route, const std::vector<size_t>& movers, size_t m,
                      const MoveStrategies& strategies) {
    if (m + 2 >= movers.size() || movers[m + 2] != movers[m + 1] + 1) return false;
    if (route[movers[m + 1]].type != Type::columns || route[movers[m + 2]].type != Type::move) return false;
    const auto moves = std::count_if(route.begin(), route.begin() + static_cast<std::ptrdiff_t>(movers[m + 2]),
                                     [](const RouteOp& op) { return op.type == Type::move; });
    return strategies.of(static_cast<size_t>(moves)).strategy->rows != nullptr;
}

struct OpSlots {
    Slot source, target;
};

// Where each operation reads and writes; see the head of lower.hpp.
std::vector<OpSlots> assign_slots(const Route& route, const std::vector<size_t>& movers, const Problem& problem,
                                  const MoveStrategies& strategies) {
    std::vector<Slot> target(route.size());
    Slot next = Slot::output;
    for (size_t m = movers.size(); m-- > 0;) {
        if (m + 1 < movers.size()) {
            bool seen = false;
            for (size_t i = movers[m] + 1; i <= movers[m + 1]; ++i) seen = seen || seen_by_all(route, i);
            // Not where the next one writes, nor, if this is still read then, the one after it.
            const Slot behind = read_while_moved(route, movers, m, strategies) ? target[movers[m + 2]] : next;
            const auto taken = [&](Slot slot) { return slot == next || slot == behind; };
            const bool reads_output = m == 0 && problem.in_place;
            const bool output_is_free = !taken(Slot::output) && !reads_output && (!seen || problem.own_output) &&
                                        fits(route[movers[m]].to, route.back().to);
            if (output_is_free)
                next = Slot::output;
            else if (!taken(Slot::work0) || taken(Slot::work1))
                next = next == Slot::work0 ? Slot::work1 : Slot::work0;
            else
                next = Slot::work1;
        }
        target[movers[m]] = next;
    }
    std::vector<OpSlots> slots;
    Slot current = problem.in_place ? Slot::output : Slot::input;
    for (size_t i = 0; i < route.size(); ++i) {
        const bool moved = std::find(movers.begin(), movers.end(), i) != movers.end();
        slots.push_back({current, moved ? target[i] : current});
        current = slots.back().target;
    }
    return slots;
}

// The last operation that multiplies its results anyway carries the normalisation, or else the last transform.
size_t scaled_op(const Route& route) {
    const auto last_that = [&](auto wanted) {
        size_t i = route.size();
        while (i > 0 && !wanted(route[i - 1])) --i;
        return i;  // 0: none
    };
    const auto multiplies = [](const RouteOp& op) {
        const bool chirps_out = op.type == Type::chirp && op.chirping == Chirping::out;
        const bool factors = op.type == Type::twiddle || op.type == Type::columns || op.type == Type::butterfly ||
                             op.type == Type::demodulate;
        return factors || chirps_out || op.modes > 0 ||
               (op.share && (!op.rows || (op.turned != Turned::neither && op.twiddled)));
    };
    if (const size_t i = last_that(multiplies)) return i - 1;
    if (const size_t i = last_that([](const RouteOp& op) { return op.type == Type::transform; })) return i - 1;
    return last_that([](const RouteOp& op) { return op.type == Type::copy; }) - 1;
}

// A copy between the caller's array and a window is part of the transform beside it, whose rank leaves out what it
// reads or writes itself: half of the array on two ranks.
struct JoinedCopies {
    std::vector<bool> joined;                      // by operation: it is such a copy
    std::vector<std::optional<Slot>> reads, puts;  // by operation: where a transform finds, or leaves, its rank's part

    JoinedCopies(const Route& route, const std::vector<OpSlots>& slots)
        : joined(route.size()), reads(route.size()), puts(route.size()) {
        for (size_t i = 0; i < route.size(); ++i) {
            if (route[i].type != Type::copy) continue;
            if (i + 1 < route.size() && route[i + 1].rows && route[i + 1].reads_all_parts()) {
                joined[i] = true;
                reads[i + 1] = slots[i].source;
                continue;
            }
            size_t before = i;
            while (before > 0 && route[before - 1].type == Type::view) --before;
            if (before > 0 && route[before - 1].rows && route[before - 1].writes_all_parts()) {
                joined[i] = true;
                puts[before - 1] = slots[i].target;
            }
        }
    }
};

// Makes the steps of one plan, operation by operation.
class Lowering {
  public:
    Lowering(const Problem& problem, const std::string& exchange, MoveStrategies exchanges, const Planner& planner,
             const char* solver)
        : exchanges_(std::move(exchanges)), machine_(planner.machine()) {
        plan_->problem = problem;
        plan_->problem.threads = threads_of(problem, machine_);
        if (exchanges_.moves() > 0) plan_->problem.exchange = exchange;
        plan_->solver = solver;
    }

    // What the operation leaves will have room.
    void hold(const RouteOp& op, const OpSlots& slots) {
        if (slots.target != slots.source && (slots.target == Slot::work0 || slots.target == Slot::work1))
            plan_->slot_bytes.hold(slots.target, op.to);
    }

    // `reads`, `puts`: where a transform that all ranks share finds, or leaves, what is the caller's.
    Status add(const RouteOp& op, const OpSlots& slots, long double scale, std::optional<Slot> reads,
               std::optional<Slot> puts) {
        bytes_ = op.from.local_bytes(0);
        switch (op.type) {
            case Type::view:
                return note_view(op);
            case Type::move:
                return add_move(op, slots);
            case Type::twiddle:
                assert(slots.source == slots.target);
                add_step(make_twiddle_step({op.from, op.pairs, direction_of(op), scale, slots.source}, machine_));
                return {};
            case Type::columns:
                return add_columns(op, slots, scale);
            case Type::butterfly:
                add_step(make_butterfly_step(
                    {op.from, op.pairs[0], problem().direction, scale, slots.source, slots.target, problem().threads},
                    machine_));
                return {};
            case Type::transpose:
                add_step(make_transpose_step(
                    {op.from, op.to, op.axes[0], slots.source, slots.target, problem().threads}, machine_));
                return {};
            case Type::halve:
                if (op.halving == Halving::split || op.halving == Halving::join) return add_split(op, slots);
                add_step(make_halve_step({op.halving, op.from, op.to, slots.source, slots.target}, machine_));
                return {};
            case Type::convolve:
                add_step(make_convolve_step(
                    {op.window, op.from, op.to, problem().direction, slots.source, slots.target, problem().threads},
                    machine_));
                return {};
            case Type::demodulate:
                add_step(
                    make_demodulate_step({op.window, op.from, op.to, scale, slots.source, slots.target}, machine_));
                return {};
            case Type::chirp:
                add_step(make_chirp_step(
                    {op.chirping, op.kernel, problem().shape[0], problem().batch, op.from, op.to, scale, slots.source,
                     slots.target, problem().engine, machine_.engine_rates, problem().threads},
                    machine_));
                return {};
            case Type::transform:
            case Type::copy:
                if (op.share) return add_shared(op, slots, scale, reads, puts);
                return op.modes > 0 ? add_padded(op, slots, scale) : add_local(op, slots, scale);
        }
        return {};
    }

    std::unique_ptr<Plan> finish(ArrayState input, ArrayState output) {
        plan_->input = std::move(input);
        plan_->output = std::move(output);
        return std::move(plan_);
    }

  private:
    const Problem& problem() const { return plan_->problem; }
    static Direction direction_of(const RouteOp& op) {
        return op.kernel == Kernel::c2c_backward ? Direction::backward : Direction::forward;
    }

    void add_step(std::unique_ptr<Step> step) {
        if (problem().ranks > 1) step->set_slowness(machine_.slowness(step->sort(), bytes_));
        plan_->steps.push_back(std::move(step));
        before_.reset();
    }

    // A step's rows stay rows where every rank's part keeps its shape.
    Status note_view(const RouteOp& op) {
        const auto representatives =
            before_ ? RankClasses({&op.from.layout, &op.to.layout}).representatives() : std::vector<int>();
        for (const int rank : representatives) {
            if (patch_shape(op.from.layout.patch(rank)) != patch_shape(op.to.layout.patch(rank))) before_.reset();
        }
        const char* note = "an axis of n points is shown as two, whose lengths multiply to n";
        if (std::find(plan_->notes.begin(), plan_->notes.end(), note) == plan_->notes.end())
            plan_->notes.push_back(note);
        return {};
    }

    // One step with what is computed before it, where the strategy sends chunks that it can wait for one by one.
    Status add_move(const RouteOp& op, const OpSlots& slots) {
        const ExchangeChoice choice = exchanges_.of(moves_done_++);
        ExchangeSpec moved = exchange_spec(op.from, op.to, choice.parameter, machine_);
        SPANFFT_TRY(choice.strategy->check(moved));
        const auto cut =
            before_ ? pipelined(*before_, moved, *choice.strategy, slots.target) : std::optional<ExchangeSpec>();
        if (cut) moved = *cut;
        auto step = make_exchange_step(moved, slots.source, slots.target, *choice.strategy, machine_);
        if (cut) {
            SPANFFT_ASSIGN(plan_->steps.back(), before_->step(machine_, plan_->notes));
            step = make_pipelined_step(std::move(before_), std::move(plan_->steps.back()), std::move(moved),
                                       std::move(step), *choice.strategy, slots.target, machine_);
            plan_->steps.pop_back();
        }
        add_step(std::move(step));
        return {};
    }

    // By the strategy of the forward route's last move.
    Status add_split(const RouteOp& op, const OpSlots& slots) {
        const bool owned = slots.source == Slot::work0 || slots.source == Slot::work1 ||
                           (slots.source == Slot::input && problem().own_input);
        SPANFFT_ASSIGN(auto step, make_split_step({op.halving, op.from, op.to, slots.source, slots.target, owned},
                                                  exchanges_.last(), machine_));
        add_step(std::move(step));
        return {};
    }

    // What a step's engine is chosen by, and with what means it runs.
    template <class Spec>
    void choose_by(Spec& spec, double memory_bytes_per_second) const {
        spec.engine = problem().engine;
        spec.rates = machine_.engine_rates;
        spec.caches = machine_.caches_of(problem().ranks);
        spec.memory_bytes_per_second = memory_bytes_per_second;
        spec.threads = problem().threads;
        spec.measure = problem().effort == Effort::measure;
    }

    Status add_local(const RouteOp& op, const OpSlots& slots, long double scale) {
        TransformSpec spec;
        spec.from = op.from;
        spec.to = op.to;
        spec.kernel = op.kernel;
        spec.axes = op.axes;
        spec.orthogonal = problem().norm == Norm::ortho && is_r2r(op.kernel);
        spec.scale = scale;
        spec.source = slots.source;
        spec.target = slots.target;
        choose_by(spec, machine_.memory_bytes_per_second);
        SPANFFT_ASSIGN(auto step, make_transform_step(spec, machine_, plan_->notes));
        add_step(std::move(step));
        before_ = transform_in_rows(std::move(spec));
        return {};
    }

    // What a transform along one axis is told, cut to some modes or of columns.
    template <class Spec>
    Spec along_axis(const RouteOp& op, const OpSlots& slots, long double scale) const {
        Spec spec;
        spec.from = op.from;
        spec.to = op.to;
        spec.axis = op.axes[0];
        spec.kernel = op.kernel;
        spec.scale = scale;
        spec.source = slots.source;
        spec.target = slots.target;
        choose_by(spec, machine_.memory_bytes_per_second);
        return spec;
    }

    Status add_padded(const RouteOp& op, const OpSlots& slots, long double scale) {
        auto spec = along_axis<PaddedSpec>(op, slots, scale);
        spec.modes = op.modes;
        SPANFFT_ASSIGN(auto step, make_padded_step(std::move(spec), plan_->notes));
        add_step(std::move(step));
        return {};
    }

    Status add_columns(const RouteOp& op, const OpSlots& slots, long double scale) {
        auto spec = along_axis<ColumnsSpec>(op, slots, scale);
        spec.dealt = op.dealt;
        SPANFFT_ASSIGN(auto step, make_columns_step(spec, plan_->notes));
        add_step(std::move(step));
        before_ = columns_in_rows(std::move(spec));
        return {};
    }

    Status add_shared(const RouteOp& op, const OpSlots& slots, long double scale, std::optional<Slot> reads,
                      std::optional<Slot> puts) {
        SharedTransformSpec spec;
        spec.elem = op.from.elem;
        spec.kernel = op.kernel;
        spec.axis = op.axes[0];
        spec.modes = op.modes;
        spec.share = *op.share;
        spec.folded = op.folded;
        if (op.filter) {
            const Extents& shape = op.share->shape();
            spec.filter = {*op.filter, problem().shape[0],    shape.back(), shape[shape.size() - 2],
                           {},         op.from.elem.precision};
        }
        spec.from = {op.from.layout, slots.source, op.reads_all_parts(), op.turned == Turned::from, reads};
        spec.to = {op.to.layout, slots.target, op.writes_all_parts(), op.turned == Turned::to, puts};
        if (op.matrix) {
            const bool takes = op.turned == Turned::neither ? op.kernel == Kernel::c2c_backward : spec.to.turned;
            SharedSide& side = takes ? spec.from : spec.to;
            side.blocks = side.layout;
            side.layout = *op.matrix;
        }
        spec.rows = op.rows;
        spec.twiddled = op.twiddled;
        spec.scale = scale;
        choose_by(spec, machine_.copy_bytes_per_second(problem().ranks));
        spec.meeting_seconds = problem().ranks > 1 ? machine_.shared_step_seconds : 0;
        SPANFFT_ASSIGN(auto step, make_shared_transform_step(std::move(spec), plan_->notes));
        add_step(std::move(step));
        plan_->problem.exchange = "shared";
        return {};
    }

    const MoveStrategies exchanges_;
    size_t moves_done_ = 0;
    const Machine& machine_;
    std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
    index_t bytes_ = 0;                // of rank 0's part of the array that the next step is given
    std::unique_ptr<RowWork> before_;  // what the last step does, if it can do some rows at a time
};

}  // namespace

int threads_of(const Problem& problem, const Machine& machine) {
    if (problem.threads > 0) return problem.threads;
    return machine.threads_for(problem.ranks);
}

Status windows_allowed(const Problem& problem, const Planner& planner, const char* solver) {
    if (!problem.exchange.empty() && problem.exchange != "shared")
        return error(Code::unsupported, solver, " takes no other exchange than shared");
    if (problem.exchange.empty() && !planner.machine().shared_windows)
        return error(Code::unsupported, solver, " needs a window, for which the ranks have no room");
    if (planner.machine().topology.nodes(problem.ranks) > 1)
        return error(Code::unsupported, solver, " is for ranks of one node");
    return Status();
}

Result<std::unique_ptr<Plan>> lower(const Problem& problem, Route route, const std::string& exchange,
                                    const Planner& planner, const char* solver) {
    assert(!route.empty());
    const auto moves = static_cast<size_t>(
        std::count_if(route.begin(), route.end(), [](const RouteOp& op) { return op.type == Type::move; }));
    const size_t named = split_exchanges(exchange).size();
    if (moves > 0 && named > 1 && named != moves) {
        return error(Code::invalid_argument, "exchange ", exchange, " names ", named, " strategies, but ", solver,
                     " makes ", moves, moves == 1 ? " exchange" : " exchanges", "; name one for each, or one for all");
    }
    const ArrayState input = route.front().from, output = route.back().to;
    if (!problem.in_place) protect_input(route);
    const Movers movers(route, problem);
    const MoveStrategies strategies(exchange, moves, problem.forward());
    const auto slots = assign_slots(route, movers.found(), problem, strategies);
    const size_t scaled = scaled_op(route);
    Lowering lowering(problem, exchange, strategies, planner, solver);
    const JoinedCopies copies(route, slots);
    for (size_t i = 0; i < route.size(); ++i) {
        lowering.hold(route[i], slots[i]);
        if (copies.joined[i]) continue;
        SPANFFT_TRY(
            lowering.add(route[i], slots[i], i == scaled ? problem.scale() : 1, copies.reads[i], copies.puts[i]));
    }
    return lowering.finish(input, output);
}

}  // namespace spanfft
