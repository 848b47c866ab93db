//! Kinds of operations, as rules and restrictions name them.

use crate::word_set::word_set;

word_set! {
    /// Operations that are restricted.
    Operations {
        /// All.
        ALL = 0x1ff, "all";
        /// Compare and search.
        READ = 0x60, "read";
        /// Add, delete, modify and rename.
        WRITE = 0x1e, "write";
        /// Bind.
        BIND = 0x1, "bind";
        /// Add.
        ADD = 0x2, "add";
        /// Modify.
        MODIFY = 0x4, "modify";
        /// Modify DN.
        RENAME = 0x8, "rename";
        /// Modify DN, by its old name.
        MODRDN = 0x8, "modrdn";
        /// Delete.
        DELETE = 0x10, "delete";
        /// Search.
        SEARCH = 0x20, "search";
        /// Compare.
        COMPARE = 0x40, "compare";
        /// All extended operations.
        EXTENDED = 0x100, "extended";
    }
}
