// SPDX-License-Identifier: GPL-2.0-or-later
// The Python module linesmith.analyzer._native (its interface: analyzer/_native.pyi).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "access/access_map.h"
#include "access/touched.h"
#include "base/error.h"
#include "btf/btf.h"
#include "code/operands.h"
#include "dwarf/debug_loader.h"
#include "identity.h"
#include "index_content.h"
#include "json_writer.h"
#include "layouts/dwarf_reader.h"
#include "plain_document.h"
#include "records/record.h"

namespace nb = nanobind;

namespace linesmith {
namespace {

using Names = std::vector<std::string>;

const Names kDebugDirectories = {"/usr/lib/debug"};

nb::bytes ToBytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// Names are any bytes in DWARF; Python gets text.
nb::str ToText(const std::string& text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Its documents are handed out as a buffer, since a copy of them would double the memory that reading takes.
class RecordTable {
 public:
  RecordTable(const std::vector<Record>& records, unsigned threads) : content_(ContentOf(records, threads)) {}

  std::size_t size() const { return content_.ends.size(); }
  const std::string& documents() const { return content_.documents; }
  nb::dict IdsByName() const {
    nb::dict ids;
    for (const NamedRecords& named : content_.names) {
      const nb::str name = ToText(named.name);
      // Names that differ in bytes that are no text are one name in Python.
      ids[name] = ids.contains(name) ? nb::tuple(ids[name] + ToTuple(named.ids)) : ToTuple(named.ids);
    }
    return ids;
  }
  nb::tuple Ends() const { return ToTuple(content_.ends); }
  nb::bytes Digests() const { return ToBytes(content_.digests); }
  nb::list AllJson() const {
    nb::list all;
    std::uint64_t start = 0;
    for (const std::uint64_t end : content_.ends) {
      all.append(nb::bytes(content_.documents.data() + start, end - start));
      start = end;
    }
    return all;
  }

 private:
  template <class Value>
  static nb::tuple ToTuple(const std::vector<Value>& values) {
    nb::list list;
    for (const Value value : values) list.append(value);
    return nb::tuple(list);
  }

  IndexContent content_;
};

int GetDocuments(PyObject* self, Py_buffer* view, int flags) {
  const std::string& documents = nb::inst_ptr<RecordTable>(self)->documents();
  return PyBuffer_FillInfo(view, self, const_cast<char*>(documents.data()),
                           static_cast<Py_ssize_t>(documents.size()), 1, flags);
}

PyType_Slot kRecordTableSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetDocuments)}, {0, nullptr}};

// Read-only numpy arrays over the columns of a map; each keeps the table that it belongs to.
class AccessTable {
 public:
  explicit AccessTable(AccessMap map) : map_(std::move(map)) {
    for (const AccessedFunction& function : map_.functions) {
      lows_.push_back(function.low);
      highs_.push_back(function.high);
    }
    for (const AccessedType& type : map_.types) layouts_.push_back(type.layout);
    for (const StaticVariable& variable : map_.statics) {
      statics_.address.push_back(variable.address);
      statics_.bytes.push_back(variable.bytes);
      statics_.element_bytes.push_back(variable.element_bytes);
      statics_.layout.push_back(variable.layout);
      statics_.of_thread.push_back(variable.of_thread);
    }
  }

  const AccessMap& map() const { return map_; }
  const std::vector<std::uint64_t>& lows() const { return lows_; }
  const std::vector<std::uint64_t>& highs() const { return highs_; }
  const std::vector<std::int64_t>& layouts() const { return layouts_; }
  const std::vector<std::uint64_t>& static_address() const { return statics_.address; }
  const std::vector<std::uint64_t>& static_bytes() const { return statics_.bytes; }
  const std::vector<std::uint64_t>& static_element() const { return statics_.element_bytes; }
  const std::vector<std::int64_t>& static_layout() const { return statics_.layout; }
  const std::vector<std::uint8_t>& static_of_thread() const { return statics_.of_thread; }

 private:
  struct Statics {
    std::vector<std::uint64_t> address;
    std::vector<std::uint64_t> bytes;
    std::vector<std::uint64_t> element_bytes;
    std::vector<std::int64_t> layout;
    std::vector<std::uint8_t> of_thread;
  };

  AccessMap map_;
  Statics statics_;
  std::vector<std::uint64_t> lows_;
  std::vector<std::uint64_t> highs_;
  std::vector<std::int64_t> layouts_;
};

template <class Value>
auto ToArray(const std::vector<Value>& column, nb::handle owner) {
  return nb::ndarray<nb::numpy, const Value, nb::ndim<1>>(column.data(), {column.size()}, owner);
}

template <class Value>
void AddColumn(nb::class_<AccessTable>& table, const char* name, std::vector<Value> AccessColumns::* column) {
  table.def_prop_ro(name, [column](nb::handle self) {
    return ToArray(nb::cast<const AccessTable&>(self).map().columns.*column, self);
  });
}

template <class Value>
void AddColumn(nb::class_<AccessTable>& table, const char* name,
               const std::vector<Value>& (AccessTable::*column)() const) {
  table.def_prop_ro(name, [column](nb::handle self) {
    return ToArray((nb::cast<const AccessTable&>(self).*column)(), self);
  });
}

nb::list ToTexts(const Names& names) {
  nb::list texts;
  for (const std::string& name : names) texts.append(ToText(name));
  return texts;
}

template <class Named>
nb::list NamesOf(const std::vector<Named>& all) {
  nb::list texts;
  for (const Named& one : all) texts.append(ToText(one.name));
  return texts;
}

nb::list InlineChains(const AccessTable& table) {
  nb::list chains;
  for (const Names& chain : table.map().inline_chains) chains.append(ToTexts(chain));
  return chains;
}

// What calls `progress` from any thread, as long as the caller's frame stands.
Progress Reporting(const std::optional<nb::callable>& progress) {
  if (!progress) return {};
  return [&progress](std::uint64_t done, std::uint64_t total) {
    const nb::gil_scoped_acquire acquire;
    (*progress)(done, total);
  };
}

RecordTable ReadDwarfTable(const std::string& path, unsigned threads, const Names& directories,
                           const std::optional<nb::callable>& progress) {
  const Progress report = Reporting(progress);
  const nb::gil_scoped_release release;
  std::unique_ptr<DebugInfo> info = LoadDebugInfo(path, directories);
  const std::vector<Record> records = ReadRecords(*info, threads, report);
  // Unmapping a large file takes as long as writing a quarter of the documents. It is ahead of them, so that
  // not both take memory.
  std::jthread closing([&info] { info.reset(); });
  return RecordTable(records, threads);
}

AccessTable MapAccessTable(const std::string& path, unsigned threads, const Names& directories,
                           const std::optional<nb::callable>& progress) {
  const Progress report = Reporting(progress);
  const nb::gil_scoped_release release;
  return AccessTable(MapAccesses(path, directories, threads, report));
}

RecordTable ReadBtfTable(const std::string& path, const std::optional<std::string>& base) {
  const nb::gil_scoped_release release;
  return RecordTable(ReadBtf(path, base.value_or("")), 1);
}

nb::bytes ReadTouchedJson(const std::string& path, const Names& functions, const Names& prefixes,
                          unsigned threads, const Names& directories) {
  std::string document;
  {
    const nb::gil_scoped_release release;
    document = TouchedJson(ReadTouched(*LoadDebugInfo(path, directories), {functions, prefixes}, threads));
  }
  return ToBytes(document);
}

nb::bytes ReadOperandsJson(const std::string& path, const Names& functions, const Names& prefixes,
                           const Names& directories) {
  std::string document;
  {
    const nb::gil_scoped_release release;
    document = OperandsJson(ReadOperands(path, {functions, prefixes}, directories));
  }
  return ToBytes(document);
}

nb::bytes IdentifyJson(const std::string& path, const Names& directories) {
  return ToBytes(IdentityJson(Identify(path, directories)));
}

bool IsPlainDocument(const nb::bytes& document) {
  const std::string_view bytes(document.c_str(), document.size());
  const nb::gil_scoped_release release;
  return IsPlain(bytes);
}

// NativeError carries (kind, message), so that Python can raise the class of `errors` that `kind` names.
void RegisterError(nb::module_& module) {
  static PyObject* type = nullptr;
  type = PyErr_NewException("linesmith.analyzer._native.NativeError", PyExc_Exception, nullptr);
  module.attr("NativeError") = nb::handle(type);
  nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      const nb::tuple arguments = nb::make_tuple(error.kind, ToText(error.what()));
      PyErr_SetObject(type, arguments.ptr());
    }
  });
}

void RegisterAccessTable(nb::module_& module) {
  nb::class_<AccessTable> table(module, "AccessTable");
  AddColumn(table, "address", &AccessColumns::address);
  AddColumn(table, "function", &AccessColumns::function);
  AddColumn(table, "inlined", &AccessColumns::inlined);
  AddColumn(table, "file", &AccessColumns::file);
  AddColumn(table, "line", &AccessColumns::line);
  AddColumn(table, "type", &AccessColumns::type);
  AddColumn(table, "offset", &AccessColumns::offset);
  AddColumn(table, "width", &AccessColumns::width);
  AddColumn(table, "kind", &AccessColumns::kind);
  AddColumn(table, "outcome", &AccessColumns::outcome);
  AddColumn(table, "variable", &AccessColumns::variable);
  AddColumn(table, "function_low", &AccessTable::lows);
  AddColumn(table, "function_high", &AccessTable::highs);
  AddColumn(table, "type_layout", &AccessTable::layouts);
  AddColumn(table, "static_address", &AccessTable::static_address);
  AddColumn(table, "static_bytes", &AccessTable::static_bytes);
  AddColumn(table, "static_element", &AccessTable::static_element);
  AddColumn(table, "static_layout", &AccessTable::static_layout);
  AddColumn(table, "static_of_thread", &AccessTable::static_of_thread);
  table.def_prop_ro("statics", [](const AccessTable& self) { return NamesOf(self.map().statics); });
  table.def_prop_ro("handed", [](const AccessTable& self) {
    // Of a machine whose code cannot be read there are no calls either.
    return AccessTable(self.map().handed ? *self.map().handed : AccessMap{});
  });
  table.def_prop_ro("functions", [](const AccessTable& self) { return NamesOf(self.map().functions); });
  table.def_prop_ro("inline_chains", &InlineChains);
  table.def_prop_ro("files", [](const AccessTable& self) { return ToTexts(self.map().files); });
  table.def_prop_ro("types", [](const AccessTable& self) { return NamesOf(self.map().types); });
  table.def_prop_ro("variables", [](const AccessTable& self) { return ToTexts(self.map().variables); });
}

}  // namespace
}  // namespace linesmith

NB_MODULE(_native, module) {
  using namespace nb::literals;
  using linesmith::RecordTable;
  // What is kept until the process ends (layouts that a cache of a function holds) is no leak to tell users
  // of.
  nb::set_leak_warnings(false);
  linesmith::RegisterError(module);
  module.def("compiler_version", &linesmith::CompilerVersion);
  module.def("libdw_version", &linesmith::LibdwVersion);
  module.def("capstone_version", &linesmith::CapstoneVersion);
  nb::class_<RecordTable>(module, "RecordTable", nb::type_slots(linesmith::kRecordTableSlots))
      .def("__len__", &RecordTable::size)
      .def("ids_by_name", &RecordTable::IdsByName)
      .def("ends", &RecordTable::Ends)
      .def("digests", &RecordTable::Digests)
      .def("all_json", &RecordTable::AllJson);
  module.def("identify", &linesmith::IdentifyJson, "path"_a,
             "debug_directories"_a = linesmith::kDebugDirectories);
  module.def("read_dwarf", &linesmith::ReadDwarfTable, "path"_a, "threads"_a,
             "debug_directories"_a = linesmith::kDebugDirectories, "progress"_a = nb::none());
  linesmith::RegisterAccessTable(module);
  module.def("map_accesses", &linesmith::MapAccessTable, "path"_a, "threads"_a,
             "debug_directories"_a = linesmith::kDebugDirectories, "progress"_a = nb::none());
  module.def("read_btf", &linesmith::ReadBtfTable, "path"_a, "base"_a = nb::none());
  module.def("read_touched", &linesmith::ReadTouchedJson, "path"_a, "functions"_a, "prefixes"_a, "threads"_a,
             "debug_directories"_a = linesmith::kDebugDirectories);
  module.def("read_operands", &linesmith::ReadOperandsJson, "path"_a, "functions"_a, "prefixes"_a,
             "debug_directories"_a = linesmith::kDebugDirectories);
  module.def("is_plain", &linesmith::IsPlainDocument, "document"_a);
}
