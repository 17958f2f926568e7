// Exchange in two levels: shared memory inside a node, one message for each ordered pair of nodes (spanfft; ADR 29).
//
// Method: a team is the ranks of the group that share a node. For each other team one member of this one is the
// gateway: it alone sends to and receives from that team. Members pack their parts straight into the windows of their
// gateways, in the order [destination][source]; a node barrier; gateways exchange whole messages while all read the
// parts that stay in the node from one another's windows; a second barrier; all read their own parts from the windows
// of the gateways, where they lie in one run a message.
// Worked numbers: 7 ranks, 3 a node, are teams {0 1 2} {3 4 5} {6}. The others of team 0 are numbered 0 and 1, and
// member 0 is the gateway to team 1, member 1 to team 2; rank 6 is team 2's to both. So ranks send 1, 1, 0, 1, 1, 0, 2
// messages, 6 = 3*2 in all, where packing for each rank alone sends 42.
// Cost: each element is copied twice, once more than by alltoallv where it packs one side; between nodes one latency
// for |A|*|B| of them. The window's part: what its rank's gateways send and receive, and its parts for the node.
// Invariant: a window is written before the first barrier and read after it, but for what gateways receive: written
// between the barriers, read after the second; so the two barriers also keep runs apart.
#include "exchange/hierarchical.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "comm/strided_copy.hpp"

namespace spanfft {

namespace {

struct Team {
    std::vector<int> places;  // positions in the group, rising
    int size() const { return static_cast<int>(places.size()); }
};

// Who is where in one exchange, and how much goes from whom to whom.
class Teams {
  public:
    Teams(const ExchangeSpec& spec, int rank) : spec_(spec), members_(exchange_group(spec.from, spec.to, rank)) {
        std::map<int, int> number_of;  // the team of a node
        int last_node = -1, team = 0;  // neighbours mostly share a node
        for (size_t place = 0; place < members_.size(); ++place) {
            const int node = spec.topology.node_of(members_[place]);
            if (node != last_node) {
                team = number_of.emplace(node, count()).first->second;
                if (team == count()) teams_.emplace_back();
                last_node = node;
            }
            if (members_[place] == rank) {
                mine_ = team;
                local_ = teams_[static_cast<size_t>(team)].size();
                place_ = static_cast<int>(place);
            }
            teams_[static_cast<size_t>(team)].places.push_back(static_cast<int>(place));
        }
        from_.resize(members_.size());
        to_.resize(members_.size());
    }
    int count() const { return static_cast<int>(teams_.size()); }
    int mine() const { return mine_; }    // this rank's team
    int local() const { return local_; }  // this rank's number in it
    int place() const { return place_; }  // and in the group
    const Team& team(int number) const { return teams_[static_cast<size_t>(number)]; }
    const Team& own() const { return team(mine_); }

    // The number, in team a, of its gateway to team b.
    int gateway(int a, int b) const { return (b < a ? b : b - 1) % team(a).size(); }
    int gateway_place(int a, int b) const { return team(a).places[static_cast<size_t>(gateway(a, b))]; }

    index_t bytes(int from_place, int to_place) const {
        const Patch &given = patch(spec_.from, from_, from_place), &taken = patch(spec_.to, to_, to_place);
        index_t bytes = spec_.elem_bytes;
        for (size_t axis = 0; axis < given.size() && bytes > 0; ++axis)
            bytes *= intersect(given[axis], taken[axis]).count;
        return bytes;
    }
    // What team a has for a place.
    index_t bytes_for(int a, int to_place) const {
        index_t total = 0;
        for (const int from : team(a).places) total += bytes(from, to_place);
        return total;
    }
    index_t message_bytes(int a, int b) const {
        index_t total = 0;
        for (const int to : team(b).places) total += bytes_for(a, to);
        return total;
    }
    // Where a piece of this rank's source or target lies in it.
    StridedPart source_part(int to_place) const {
        return part(patch(spec_.from, from_, place_), patch(spec_.to, to_, to_place), to_place);
    }
    StridedPart target_part(int from_place) const {
        return part(patch(spec_.to, to_, place_), patch(spec_.from, from_, from_place), from_place);
    }

  private:
    // Few are asked for where thousands are in the group.
    const Patch& patch(const Layout& layout, std::vector<Patch>& known, int place) const {
        Patch& patch = known[static_cast<size_t>(place)];
        if (patch.empty()) patch = layout.patch(members_[static_cast<size_t>(place)]);
        return patch;
    }
    StridedPart part(const Patch& mine, const Patch& theirs, int other) const {
        return strided_part(make_piece(other, mine, theirs), patch_shape(mine), spec_.elem_bytes);
    }

    const ExchangeSpec& spec_;
    std::vector<int> members_;  // of the group, in the layouts' numbering
    std::vector<Team> teams_;
    mutable std::vector<Patch> from_, to_;  // by place, once asked for
    int mine_ = 0, local_ = 0, place_ = 0;
};

// What this rank's team sends to each place of the others, and each of its members gets from each of them: what binding
// asks for many times, by one look at each pair. Of 10,000 ranks in teams of 125 that are 2.5 million pairs.
class Traffic {
  public:
    explicit Traffic(const Teams& teams) : teams_(teams) {
        const std::vector<int>& own = teams.own().places;
        received_.resize(static_cast<size_t>(teams.count()));
        for (int other = 0; other < teams.count(); ++other) {
            auto& received = received_[static_cast<size_t>(other)];
            received.resize(own.size());
            if (other == teams.mine()) continue;
            for (const int place : teams.team(other).places) {
                Sent sent;
                for (size_t local = 0; local < own.size(); ++local) {
                    const index_t bytes = teams.bytes(own[local], place);
                    sent.bytes += bytes;
                    if (static_cast<int>(local) < teams.local()) sent.before_bytes += bytes;
                    received[local] += teams.bytes(place, own[local]);
                }
                sent_.emplace(place, sent);
            }
        }
    }
    index_t sent_to(int place) const { return sent_.at(place).bytes; }
    index_t sent_to_before_this_rank(int place) const { return sent_.at(place).before_bytes; }
    index_t received_by(int local, int other) const {
        return received_[static_cast<size_t>(other)][static_cast<size_t>(local)];
    }
    index_t message_to(int other) const {
        index_t total = 0;
        for (const int place : teams_.team(other).places) total += sent_to(place);
        return total;
    }
    index_t message_from(int other) const {
        index_t total = 0;
        for (const index_t bytes : received_[static_cast<size_t>(other)]) total += bytes;
        return total;
    }

  private:
    struct Sent {
        index_t bytes = 0, before_bytes = 0;  // of all members, and of those before this rank
    };
    const Teams& teams_;
    std::unordered_map<int, Sent> sent_;          // by place
    std::vector<std::vector<index_t>> received_;  // by team and member of the own one
};

// The window part of one member of this rank's team: messages to send, messages received, parts for the node.
struct WindowPart {
    std::vector<BytesPart> send, receive;  // by team; empty where another is the gateway
    index_t kept_offset = 0;
    index_t bytes = 0;
};

// With `traffic` by what it has counted, else by looking at the pairs that this member handles.
WindowPart window_part(const Teams& teams, int local, const Traffic* traffic = nullptr) {
    WindowPart part;
    const auto message_to = [&](int other) {
        return traffic ? traffic->message_to(other) : teams.message_bytes(teams.mine(), other);
    };
    const auto message_from = [&](int other) {
        return traffic ? traffic->message_from(other) : teams.message_bytes(other, teams.mine());
    };
    const auto handled = [&](int other) {
        return other != teams.mine() && teams.gateway(teams.mine(), other) == local;
    };
    for (const bool sending : {true, false}) {
        for (int other = 0; other < teams.count(); ++other) {
            const index_t bytes = !handled(other) ? 0 : sending ? message_to(other) : message_from(other);
            (sending ? part.send : part.receive).push_back({part.bytes, bytes});
            part.bytes += bytes;
        }
    }
    part.kept_offset = part.bytes;
    const int place = teams.own().places[static_cast<size_t>(local)];
    for (const int peer : teams.own().places) part.bytes += peer == place ? 0 : teams.bytes(place, peer);
    return part;
}

// Where the part of `from` for `to`, both of the own team, lies among the parts that `from` keeps in the node.
index_t offset_in_kept(const Teams& teams, int from, int to) {
    index_t offset = 0;
    for (const int peer : teams.own().places) {
        if (peer == to) break;
        offset += peer == from ? 0 : teams.bytes(from, peer);
    }
    return offset;
}

// A copy between this rank's array and the window part of a member of its team.
struct Lane {
    int owner = 0;
    StridedPart array, window;
};

void add_lane(std::vector<Lane>& lanes, int owner, StridedPart array, index_t offset_bytes) {
    const index_t bytes = array.bytes();
    if (bytes > 0) lanes.push_back({owner, std::move(array), {offset_bytes, {{bytes, 1}}, 1}});
}

class HierarchicalExchange final : public Exchange {
  public:
    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding) {
        auto exchange = std::unique_ptr<HierarchicalExchange>(new HierarchicalExchange);
        const Teams teams(binding.spec, binding.rank);
        const Traffic traffic(teams);
        std::vector<WindowPart> parts;  // of all members of the team
        for (int local = 0; local < teams.own().size(); ++local) parts.push_back(window_part(teams, local, &traffic));
        SPANFFT_TRY(exchange->make_window(binding, teams, parts[static_cast<size_t>(teams.local())].bytes));
        exchange->make_lanes(teams, traffic, parts);
        SPANFFT_TRY(exchange->make_messages(binding, teams, parts[static_cast<size_t>(teams.local())]));
        return std::unique_ptr<Exchange>(std::move(exchange));
    }
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override {
        target_ = target;
        for (const Lane& lane : outgoing_)
            copied(copy_strided(lane.array, source, lane.window, window_->part(lane.owner)));
        // After a failure too: ranks of this node wait at the barriers, those of others for the messages.
        const Status together = window_->barrier();
        const Status sent = messages_->start(own_part_, own_part_);
        copied(copy_strided(self_source_, source, self_target_, target));
        read(near_);
        return together.ok() ? sent : together;
    }
    Status finish(int) override {
        const Status received = messages_->finish();
        const Status together = window_->barrier();
        read(far_);
        return received.ok() ? together : received;
    }

  private:
    HierarchicalExchange() = default;
    void read(const std::vector<Lane>& lanes) {
        for (const Lane& lane : lanes)
            copied(copy_strided(lane.window, window_->part(lane.owner), lane.array, target_));
    }
    // Agreed on by the whole group: a team that failed must not leave the others in the next call.
    Status make_window(const ExchangeBinding& binding, const Teams& teams, index_t bytes) {
        auto node = binding.comm.group(teams.own().places);
        SPANFFT_TRY(agree(binding.comm, node.status()));
        node_ = std::move(node).value();
        auto window = node_->make_window(bytes);
        SPANFFT_TRY(agree(binding.comm, window.status()));
        window_ = std::move(window).value();
        own_part_ = window_->part(teams.local());
        return Status();
    }
    void make_lanes(const Teams& teams, const Traffic& traffic, const std::vector<WindowPart>& parts) {
        self_source_ = teams.source_part(teams.place());
        self_target_ = teams.target_part(teams.place());
        for (int other = 0; other < teams.count(); ++other) {
            if (other == teams.mine()) {
                keep_in_node(teams, parts);
            } else {
                go_through_gateway(teams, traffic, parts, other);
            }
        }
    }
    // Messages are in the order [destination][source].
    void go_through_gateway(const Teams& teams, const Traffic& traffic, const std::vector<WindowPart>& parts,
                            int other) {
        const int gateway = teams.gateway(teams.mine(), other);
        const WindowPart& part = parts[static_cast<size_t>(gateway)];
        index_t to_send = part.send[static_cast<size_t>(other)].offset_bytes;
        for (const int peer : teams.team(other).places) {
            add_lane(outgoing_, gateway, teams.source_part(peer), to_send + traffic.sent_to_before_this_rank(peer));
            to_send += traffic.sent_to(peer);
        }
        index_t to_read = part.receive[static_cast<size_t>(other)].offset_bytes;
        for (int local = 0; local < teams.local(); ++local) to_read += traffic.received_by(local, other);
        for (const int peer : teams.team(other).places) {
            add_lane(far_, gateway, teams.target_part(peer), to_read);
            to_read += teams.bytes(peer, teams.place());
        }
    }
    void keep_in_node(const Teams& teams, const std::vector<WindowPart>& parts) {
        for (int local = 0; local < teams.own().size(); ++local) {
            if (local == teams.local()) continue;
            const int peer = teams.own().places[static_cast<size_t>(local)];
            add_lane(
                outgoing_, teams.local(), teams.source_part(peer),
                parts[static_cast<size_t>(teams.local())].kept_offset + offset_in_kept(teams, teams.place(), peer));
            add_lane(near_, local, teams.target_part(peer),
                     parts[static_cast<size_t>(local)].kept_offset + offset_in_kept(teams, peer, teams.place()));
        }
    }
    Status make_messages(const ExchangeBinding& binding, const Teams& teams, const WindowPart& part) {
        std::vector<PairParts> pairs;
        for (int other = 0; other < teams.count(); ++other) {
            const auto i = static_cast<size_t>(other);
            if (part.send[i].bytes || part.receive[i].bytes)
                pairs.push_back({teams.gateway_place(other, teams.mine()), part.send[i], part.receive[i]});
        }
        SPANFFT_ASSIGN(messages_, binding.comm.make_pairs(pairs, Pairing::nonblocking));
        return Status();
    }

    std::unique_ptr<Comm> node_;
    std::unique_ptr<SharedWindow> window_;
    std::unique_ptr<Transfer> messages_;
    std::vector<Lane> outgoing_, near_, far_;  // near: from the own node, far: through the gateways
    StridedPart self_source_, self_target_;
    void *own_part_ = nullptr, *target_ = nullptr;
};

index_t buffer_bytes(const ExchangeSpec& spec, int rank) {
    const Teams teams(spec, rank);
    return window_part(teams, teams.local()).bytes;
}

Counts predict(const ExchangeSpec& spec, int rank) {
    const Teams teams(spec, rank);
    const WindowPart part = window_part(teams, teams.local());
    Counts counts;
    for (const BytesPart& message : part.send) {
        counts.messages += message.bytes > 0;
        counts.sent_bytes += message.bytes;
    }
    counts.calls = counts.messages;
    for (const BytesPart& message : part.receive) counts.calls += message.bytes > 0;
    // Everything that leaves the array or comes to it is copied once; what stays on the rank is both.
    const index_t leaves = spec.from.local_elems(rank), comes = spec.to.local_elems(rank);
    counts.memory_bytes = 2 * ((leaves + comes) * spec.elem_bytes - teams.bytes(teams.place(), teams.place()));
    return counts;
}

// On one node `shared` does the same with half the copies.
std::vector<std::string> candidates(const ExchangeSpec& spec) {
    const bool several = spec.topology.nodes(spec.from.nranks()) > 1;
    return several ? std::vector<std::string>{""} : std::vector<std::string>{};
}

}  // namespace

ExchangeStrategy hierarchical_strategy() {
    ExchangeStrategy row;
    row.name = "hierarchical";
    row.source = "spanfft";
    row.how = "shared memory in a node, one message for each pair of nodes";
    row.bind = HierarchicalExchange::make;
    row.predict = predict;
    row.buffer_bytes = buffer_bytes;
    row.candidates = candidates;
    row.makes_window = true;
    return row;
}

}  // namespace spanfft
