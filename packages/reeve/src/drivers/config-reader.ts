import { parseDurationMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'

/** Maximum number of entries; more are a mistake of the program that generated the job. */
const ENTRIES_MAX = 1_024

interface ConfigReaderOptions {
  /** Name in error messages: `raw_exec`, `auth of docker`. */
  readonly owner: string
  readonly known: readonly string[]
  /** Prefix of field names: `auth.`. */
  readonly path?: string
}

/**
 * Reads a task's `Config`; errors are Faults `task-config` that name the field. Absent and null are
 * equivalent; an unknown setting is rejected with a suggestion.
 */
export class ConfigReader {
  readonly #values: Readonly<Record<string, unknown>>
  readonly #options: ConfigReaderOptions

  constructor(values: Readonly<Record<string, unknown>>, options: ConfigReaderOptions) {
    this.#values = values
    this.#options = options
    for (const name of Object.keys(values)) {
      if (options.known.includes(name)) continue
      const near = nearestName(name, options.known)
      const hint = near === undefined ? '' : `; did you mean ${near}?`
      throw configFault(JSON.stringify(name), `is not a setting of ${options.owner}${hint}`)
    }
  }

  /** Returns a required string that is not empty. */
  requiredString(name: string): string {
    const value = requireString(
      this.#path(name),
      this.#get(name) ?? throwRequired(this.#path(name)),
    )
    if (value === '') throw configFault(this.#path(name), 'is empty')
    return value
  }

  string(name: string): string | undefined {
    const value = this.#get(name)
    return value === undefined ? undefined : requireString(this.#path(name), stringifyScalar(value))
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.string(name)
    if (value === undefined || value === '') return undefined
    const match = allowed.find((candidate) => candidate === value)
    if (match !== undefined) return match
    throw configFault(this.#path(name), `must be one of ${allowed.join(', ')}`)
  }

  strings(name: string): readonly string[] | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    const field = this.#path(name)
    if (!Array.isArray(value)) throw configFault(field, 'must be a list of texts')
    requireEntryCount(field, value.length)
    return value.map((item: unknown, index) => {
      const itemPath = `${field}[${index}]`
      return requireString(itemPath, stringifyScalar(item ?? throwRequired(itemPath)))
    })
  }

  bool(name: string): boolean | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw configFault(this.#path(name), 'must be true or false')
  }

  integer(name: string, range: { readonly min: number; readonly max: number }): number | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number !== 'number' || !Number.isSafeInteger(number)) {
      throw configFault(this.#path(name), 'must be a whole number')
    }
    if (number < range.min || number > range.max) {
      throw configFault(this.#path(name), `must be from ${range.min} to ${range.max}`)
    }
    return number
  }

  durationMs(name: string): number | undefined {
    const value = this.#get(name)
    if (value === undefined) return undefined
    const ms = typeof value === 'string' ? parseDurationMs(value) : undefined
    if (ms === undefined || ms < 0) throw configFault(this.#path(name), 'must be a duration')
    return ms
  }

  /** Reads a map of strings. A block in a job file is a list of one map; several are merged. */
  map(name: string): Readonly<Record<string, string>> {
    const merged: [string, string][] = []
    for (const object of this.#objects(name)) {
      for (const [key, value] of Object.entries(object)) {
        const entryPath = `${this.#path(name)}[${JSON.stringify(key)}]`
        merged.push([
          requireString(`${entryPath}'s name`, key),
          requireString(entryPath, stringifyScalar(value ?? throwRequired(entryPath))),
        ])
      }
    }
    requireEntryCount(this.#path(name), merged.length)
    return Object.fromEntries(merged)
  }

  /** Reads an optional block that may occur once. */
  block(name: string, known: readonly string[]): ConfigReader | undefined {
    const blocks = this.blocks(name, known)
    if (blocks.length > 1) throw configFault(this.#path(name), 'may be there only once')
    return blocks[0]
  }

  blocks(name: string, known: readonly string[]): readonly ConfigReader[] {
    const objects = this.#objects(name)
    return objects.map((values, index) => {
      const path = `${this.#path(name)}${objects.length > 1 ? `[${index}]` : ''}.`
      return new ConfigReader(values, { owner: `${name} of ${this.#options.owner}`, known, path })
    })
  }

  /** Fault for a field with an invalid value. */
  fault(name: string, problem: string): Fault {
    return configFault(this.#path(name), problem)
  }

  #objects(name: string): readonly Readonly<Record<string, unknown>>[] {
    const value = this.#get(name)
    if (value === undefined) return []
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    requireEntryCount(this.#path(name), list.length)
    return list.map((item) => {
      if (isObject(item)) return item
      throw configFault(this.#path(name), 'must be a block')
    })
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined
  }

  #path(name: string): string {
    return `${this.#options.path ?? ''}${name}`
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Job files write numbers and booleans without quotes. */
function stringifyScalar(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}

function requireString(field: string, value: unknown): string {
  if (typeof value !== 'string') throw configFault(field, 'must be a text')
  if (value.includes('\0')) throw configFault(field, 'holds a NUL character')
  return value
}

function requireEntryCount(field: string, count: number): void {
  if (count > ENTRIES_MAX) throw configFault(field, `has more than ${ENTRIES_MAX} entries`)
}

function throwRequired(field: string): never {
  throw configFault(field, 'is required')
}

function configFault(field: string, problem: string): Fault {
  return new Fault('task-config', `${field} ${problem}`)
}

/** Maximum edit distance between a name and its suggestion. */
const DISTANCE_MAX = 3

/** Maximum length of names that are compared, because the comparison is quadratic. */
const LENGTH_MAX = 64

/** Returns the known name that is closest to a misspelt one; undefined if none is close. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LENGTH_MAX) return undefined
  const normalized = withoutSeparators(name)
  const ranked = known
    .map((candidate) => ({
      one: candidate,
      distance: editDistance(normalized, withoutSeparators(candidate)),
    }))
    .filter((match) => match.distance <= Math.min(DISTANCE_MAX, Math.floor(match.one.length / 2)))
    .toSorted((a, b) => a.distance - b.distance || (a.one < b.one ? -1 : 1))
  return ranked[0]?.one
}

/** Ignores case and separators: `workDir` matches `work_dir`. */
function withoutSeparators(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase()
}

/** Returns the edit distance: the number of characters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j += 1) {
      const change = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1)
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/**
 * Types and documentation (Markdown) of the fields of a driver's `config`. Other fields are
 * rejected. docs/reference/drivers.md is generated from it.
 */
export type ConfigFieldDocs = Readonly<Record<string, readonly [type: string, help: string]>>
