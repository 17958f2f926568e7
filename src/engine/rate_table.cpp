// Rows and those alike; see rate_table.hpp.
#include "engine/rate_table.hpp"

namespace spanfft {

namespace {

const std::vector<RateRow>& no_rows() {
    static const std::vector<RateRow> none;
    return none;
}

}  // namespace

RateTable::RateTable(std::initializer_list<RateRow> rows) {
    for (const RateRow& row : rows) push_back(row);
}

void RateTable::push_back(const RateRow& row) {
    if (!data_ || data_.use_count() > 1) data_ = std::make_shared<Data>(data_ ? *data_ : Data());
    data_->rows.push_back(row);
    data_->alike[{row.engine, row.precision, row.shape, row.threads, row.kernel}].push_back(row);
}

const std::vector<RateRow>& RateTable::rows() const { return data_ ? data_->rows : no_rows(); }

const std::vector<RateRow>& RateTable::alike(const RateKey& key) const {
    if (!data_) return no_rows();
    const auto found = data_->alike.find(key);
    return found == data_->alike.end() ? no_rows() : found->second;
}

}  // namespace spanfft
