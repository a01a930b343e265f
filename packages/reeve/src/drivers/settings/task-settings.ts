import { parseDurationMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { nearestName } from './nearest-name.ts'

/** More entries than this in one setting are a mistake of a program that wrote the job. */
const ENTRIES_MAX = 1_024

interface SettingsOptions {
  /** Said in complaints: `raw_exec`, `auth of docker`. */
  readonly of: string
  readonly known: readonly string[]
  /** Goes before the names of fields: `auth.`. */
  readonly path?: string
}

/**
 * Reads a task's `Config` with a Fault `task-config` that names the field. Absent and null are the
 * same; a misspelt setting is not ignored, and the nearest one is told.
 */
export class TaskSettings {
  readonly #values: Readonly<Record<string, unknown>>
  readonly #options: SettingsOptions

  constructor(values: Readonly<Record<string, unknown>>, options: SettingsOptions) {
    this.#values = values
    this.#options = options
    for (const name of Object.keys(values)) {
      if (options.known.includes(name)) continue
      const near = nearestName(name, options.known)
      const hint = near === undefined ? '' : `; did you mean ${near}?`
      throw bad(JSON.stringify(name), `is not a setting of ${options.of}${hint}`)
    }
  }

  /** Must be there and must not be empty. */
  requiredText(name: string): string {
    const value = text(this.#path(name), this.#value(name) ?? required(this.#path(name)))
    if (value === '') throw bad(this.#path(name), 'is empty')
    return value
  }

  text(name: string): string | undefined {
    const value = this.#value(name)
    return value === undefined ? undefined : text(this.#path(name), plain(value))
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name)
    if (value === undefined || value === '') return undefined
    const found = allowed.find((one) => one === value)
    if (found !== undefined) return found
    throw bad(this.#path(name), `must be one of ${allowed.join(', ')}`)
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    const field = this.#path(name)
    if (!Array.isArray(value)) throw bad(field, 'must be a list of texts')
    limit(field, value.length)
    return value.map((item: unknown, index) => {
      const at = `${field}[${index}]`
      return text(at, plain(item ?? required(at)))
    })
  }

  bool(name: string): boolean | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw bad(this.#path(name), 'must be true or false')
  }

  integer(name: string, range: { readonly min: number; readonly max: number }): number | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number !== 'number' || !Number.isSafeInteger(number)) {
      throw bad(this.#path(name), 'must be a whole number')
    }
    if (number < range.min || number > range.max) {
      throw bad(this.#path(name), `must be from ${range.min} to ${range.max}`)
    }
    return number
  }

  durationMs(name: string): number | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    const ms = typeof value === 'string' ? parseDurationMs(value) : undefined
    if (ms === undefined || ms < 0) throw bad(this.#path(name), 'must be a duration')
    return ms
  }

  /** Names to texts. A block in a job file is a list of one map; several are put together. */
  map(name: string): Readonly<Record<string, string>> {
    const merged: [string, string][] = []
    for (const one of this.#objects(name)) {
      for (const [key, value] of Object.entries(one)) {
        const at = `${this.#path(name)}[${JSON.stringify(key)}]`
        merged.push([text(`${at}'s name`, key), text(at, plain(value ?? required(at)))])
      }
    }
    limit(this.#path(name), merged.length)
    return Object.fromEntries(merged)
  }

  /** A block that may be there once. */
  block(name: string, known: readonly string[]): TaskSettings | undefined {
    const blocks = this.blocks(name, known)
    if (blocks.length > 1) throw bad(this.#path(name), 'may be there only once')
    return blocks[0]
  }

  blocks(name: string, known: readonly string[]): readonly TaskSettings[] {
    const found = this.#objects(name)
    return found.map((values, index) => {
      const path = `${this.#path(name)}${found.length > 1 ? `[${index}]` : ''}.`
      return new TaskSettings(values, { of: `${name} of ${this.#options.of}`, known, path })
    })
  }

  /** A complaint about a field that can be read but makes no sense. */
  refuse(name: string, what: string): Fault {
    return bad(this.#path(name), what)
  }

  #objects(name: string): readonly Readonly<Record<string, unknown>>[] {
    const value = this.#value(name)
    if (value === undefined) return []
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    limit(this.#path(name), list.length)
    return list.map((one) => {
      if (isObject(one)) return one
      throw bad(this.#path(name), 'must be a block')
    })
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined
  }

  #path(name: string): string {
    return `${this.#options.path ?? ''}${name}`
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Job files write numbers and truth values without quotes. */
function plain(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}

function text(field: string, value: unknown): string {
  if (typeof value !== 'string') throw bad(field, 'must be a text')
  if (value.includes('\0')) throw bad(field, 'holds a NUL character')
  return value
}

function limit(field: string, count: number): void {
  if (count > ENTRIES_MAX) throw bad(field, `has more than ${ENTRIES_MAX} entries`)
}

function required(field: string): never {
  throw bad(field, 'is required')
}

function bad(field: string, what: string): Fault {
  return new Fault('task-config', `${field} ${what}`)
}
