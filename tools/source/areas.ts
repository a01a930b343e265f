import { posix } from 'node:path'

/** One area of `arrows.config.mjs`, with every default filled in. */
export interface Area {
  readonly name: string
  readonly folder: string
  readonly may: readonly string[]
  readonly types: readonly string[]
  readonly packages: readonly string[]
  readonly builtins: boolean
  readonly doors: readonly string[]
  readonly open: boolean
  readonly pure: boolean
  readonly library: boolean
}

export interface Areas {
  readonly all: readonly Area[]
  /** The area whose folder holds the file. */
  areaOf(path: string): Area | undefined
}

const FIELDS = [
  'folder',
  'may',
  'types',
  'packages',
  'builtins',
  'doors',
  'open',
  'pure',
  'library',
]

/** Reads the configuration strictly: a misspelt field would allow or forbid in silence. */
export function readAreas(config: unknown): Areas {
  const entries = Object.entries(asRecord(config, 'areas'))
  const names = entries.map(([name]) => name)
  const all = entries.map(([name, value]) => readArea(name, asRecord(value, name), names))
  checkLibraries(all)
  return {
    all,
    areaOf: (path) => all.find(({ folder }) => path.startsWith(`${folder}/`)),
  }
}

function readArea(name: string, value: Record<string, unknown>, known: readonly string[]): Area {
  const unknown = Object.keys(value).find((field) => !FIELDS.includes(field))
  if (unknown !== undefined) throw new Error(`arrows: area ${name} has no field "${unknown}"`)
  const folder = value['folder']
  if (typeof folder !== 'string') throw new Error(`arrows: area ${name} needs a folder`)
  const may = value['may'] === '*' ? known : stringsAt(value, 'may')
  const types = stringsAt(value, 'types')
  const stranger = [...may, ...types].find((other) => !known.includes(other))
  if (stranger !== undefined) throw new Error(`arrows: ${name} names no known area: ${stranger}`)
  const doors = stringsAt(value, 'doors')
  return {
    name,
    folder: posix.normalize(folder),
    may,
    types,
    packages: stringsAt(value, 'packages'),
    builtins: value['builtins'] === true,
    doors: doors.length > 0 ? doors : ['index.ts'],
    open: value['open'] === true,
    pure: value['pure'] === true,
    library: value['library'] === true,
  }
}

/** Libraries must not import the product, not even its types. */
function checkLibraries(all: readonly Area[]): void {
  const libraries = all.filter((area) => area.library)
  const names = libraries.map(({ name }) => name)
  for (const { name, may, types } of libraries) {
    const product = [...may, ...types].find((other) => !names.includes(other))
    if (product !== undefined)
      throw new Error(`arrows: ${name} is a library and may not import ${product}`)
  }
}

function stringsAt(value: Record<string, unknown>, field: string): string[] {
  const list = value[field] ?? []
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string'))
    throw new Error(`arrows: ${field} must be a list of names`)
  return list
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new Error(`arrows: ${what} is no object`)
  return { ...value }
}
