// From bytes to panels; see partition.hpp.
#include "disk/partition.hpp"

namespace spanfft {

namespace {

// Which panel of a matrix walks over this column, of those that are walked over. Where ranks share panels out: in which
// of its panels a rank does that walks over it (blocks: of its own rows).
index_t panel_walking(const ColumnPanels& panels, index_t column) {
    const index_t section = panels.section_columns();
    const index_t i = column / section * panels.panels_per_section() + column % section / panels.panel;
    return panels.in_blocks ? i % panels.panels_per_matrix() : i / panels.ranks;
}

// Of a file with one rank's columns: those of its panels, one after the other, then those that mirror them.
Partition::Part part_of_kept_columns(const ColumnPanels& panels, index_t elem) {
    Partition::Part part;
    const index_t row_elems = panels.stored_row_elems(), row = elem / row_elems, column = elem % row_elems;
    const ColumnPanels::Group near = panels.own_group(0), far = panels.own_group(1);
    index_t i = column / panels.panel, end = std::min((i + 1) * panels.panel, near.width);
    if (column >= near.width) {
        const index_t image = panels.row_elems - 1 - (far.first + column - near.width) - near.first;
        i = image / panels.panel;
        end = near.width + panels.row_elems - (near.first + i * panels.panel) - far.first;
    }
    part.id = row / panels.rows * panels.panels_per_matrix() + i;
    part.end_bytes = row * row_elems + end;
    return part;
}

Partition::Part part_of_columns(const ColumnPanels& panels, index_t elem) {
    Partition::Part part;
    const bool twin = panels.twin_elems > 0 && elem >= panels.twin_elems;
    const index_t region = twin ? panels.twin_elems : 0;
    if (panels.kept) {
        part = part_of_kept_columns(panels, elem - region);
        part.id += twin ? panels.panels() : 0;
        part.end_bytes += region;
        return part;
    }
    const index_t matrix = (elem - region) / panels.matrix_elems(), within = (elem - region) % panels.matrix_elems();
    const index_t row = within / panels.row_elems, column = within % panels.row_elems;
    if (panels.reflected) {
        const bool far = column >= panels.columns;
        const index_t i = (far ? panels.row_elems - 1 - column : column) / panels.panel;
        const index_t end =
            far ? panels.row_elems - i * panels.panel : std::min((i + 1) * panels.panel, panels.columns);
        part.id = matrix * panels.panels_per_matrix() + i;
        part.end_bytes = matrix * panels.matrix_elems() + std::min(row * panels.row_elems + end, panels.matrix_elems());
        return part;
    }
    const index_t pitch = panels.section > 0 ? panels.section_pitch : panels.row_elems;
    if (panels.mirrored && column % pitch >= panels.section_columns()) {
        // The mirror image of a column that a panel walks over, in a run that ends with that of the panel's first (but
        // column 0 of a section is none's). Worked: 7 columns in panels of 2: 1 has 6, 2 and 3 have 5 and 4.
        const index_t image = panels.row_elems - column, section = image / pitch * pitch;
        const index_t first = (image - section) / panels.panel * panels.panel;
        part.image = true;
        part.id =
            image / pitch * panels.panels_per_section() + first / panels.panel + matrix * panels.panels_per_matrix();
        const index_t stop = panels.row_elems - section - std::max<index_t>(first, 1) + 1;
        part.end_bytes =
            matrix * panels.matrix_elems() + std::min(row * panels.row_elems + stop, panels.matrix_elems());
        return part;
    }
    const index_t i = column % pitch / panels.panel;
    part.id = column / pitch * panels.panels_per_section() + i + (twin ? panels.panels() : 0) +
              matrix * panels.panels_per_matrix();
    const index_t end = column / pitch * pitch + std::min((i + 1) * panels.panel, panels.section_columns());
    const index_t row_end = std::min(row * panels.row_elems + end, panels.matrix_elems());
    part.end_bytes = region + matrix * panels.matrix_elems() + row_end;
    return part;
}

}  // namespace

Partition Partition::of_loads(index_t loads, index_t block_bytes, std::function<index_t(index_t block)> load_of) {
    Partition partition;
    partition.kind = Kind::blocks_of_loads;
    partition.panels.outer = loads;
    partition.block_bytes = block_bytes;
    partition.load_of = std::move(load_of);
    return partition;
}

Partition Partition::of_boxes(const ArrayBoxes& array) {
    Partition partition;
    partition.kind = Kind::boxes;
    partition.panels.outer = array.count();
    partition.array = array;
    return partition;
}

namespace {

// Which box of the array has this element, and where its run there ends: at the box's end along the last axis that it
// does not fill.
Partition::Part part_of_boxes(const ArrayBoxes& array, index_t elem) {
    Partition::Part part;
    index_t rest = elem, row = 1, boxes = 1;  // row: elements of a step along the axis
    part.end_bytes = -1;
    for (size_t axis = array.shape.size(); axis-- > 0;) {
        const index_t length = array.shape[axis], box = array.box[axis];
        const index_t at = rest % length, end = std::min(at - at % box + box, length);
        rest /= length;
        if (part.end_bytes < 0 && (box < length || axis == 0)) part.end_bytes = elem - elem % row + (end - at) * row;
        part.id += at / box * boxes;
        boxes *= ceil_div(length, box);
        row *= length;
    }
    return part;
}

}  // namespace

Partition::Part Partition::at(index_t byte) const {
    Part part;
    if (kind == Kind::boxes) {
        part = part_of_boxes(array, (byte - offset_bytes) / array.elem_bytes);
        part.end_bytes = offset_bytes + part.end_bytes * array.elem_bytes;
        return part;
    }
    if (kind == Kind::blocks_of_loads) {
        const index_t block = (byte - offset_bytes) / block_bytes;
        part.id = load_of(block);
        part.end_bytes = offset_bytes + (block + 1) * block_bytes;
        return part;
    }
    if (kind == Kind::columns) {
        part = part_of_columns(panels, (byte - offset_bytes) / panels.elem_bytes);
        part.end_bytes = offset_bytes + part.end_bytes * panels.elem_bytes;
        return part;
    }
    const index_t matrix = (byte - offset_bytes) / blocks.matrix_bytes();
    const index_t within = (byte - offset_bytes) % blocks.matrix_bytes();
    const index_t column_bytes = blocks.rows * blocks.elem_bytes;
    const index_t tile =
        blocks.natural ? blocks.tile_at(within / column_bytes) : within / blocks.column_tile_pitch_bytes();
    const index_t begin =
        blocks.natural ? blocks.first_column(tile) * column_bytes : tile * blocks.column_tile_pitch_bytes();
    const index_t columns = blocks.columns_in(tile), first = blocks.column_of_all(blocks.first_column(tile));
    const bool by_rows = kind == Kind::row_tiles;
    const index_t block = by_rows ? (within - begin) / (blocks.tile_rows * columns * blocks.elem_bytes) : 0;
    const index_t rows_before = block * blocks.tile_rows;
    const index_t rows = by_rows ? rows_before + blocks.rows_in(block) : blocks.rows;
    part.end_bytes = offset_bytes + matrix * blocks.matrix_bytes() + begin + rows * columns * blocks.elem_bytes;
    part.id = matrix * panels.panels_per_matrix() + panel_walking(panels, by_rows ? rows_before : first);
    return part;
}

}  // namespace spanfft
