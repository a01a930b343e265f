import { CUT_LENGTH_MIN, VALUE_DEPTH_MAX } from '../limits.ts'
import { Float } from './int.ts'
import { isFunction, isMap, ListValue, Undefined, type Key, type Value } from './value.ts'

/** Formats a value for reports and `print`, truncated to `lengthMax` characters. */
export function formatValue(value: Value, lengthMax: number): string {
  const writer = new Writer(lengthMax)
  writer.write(value, 0)
  return writer.text
}

class Writer {
  text = ''
  readonly #lengthMax: number

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax
  }

  write(value: Value, depth: number): void {
    if (this.text.length > this.#lengthMax) return
    if (depth > VALUE_DEPTH_MAX) return this.#add('…')
    if (value instanceof ListValue) return this.#list(value, depth)
    if (isMap(value)) return this.#map(value, depth)
    this.#scalar(value)
  }

  #scalar(value: Value): void {
    const text = scalar(value)
    const room = this.#lengthMax - this.text.length
    this.#add(text.length > room && room < CUT_LENGTH_MIN ? '…' : text)
  }

  #list(list: ListValue, depth: number): void {
    this.#add('[')
    for (const [index, item] of list.items.entries()) {
      if (this.#isFull()) return
      if (index > 0) this.#add(', ')
      this.write(item, depth + 1)
    }
    this.#add(']')
  }

  #map(map: Extract<Value, { isMap: true }>, depth: number): void {
    this.#add('{')
    for (const [index, key] of map.keys().entries()) {
      if (this.#isFull()) return
      if (index > 0) this.#add(', ')
      this.#add(`${showKey(key)}: `)
      this.write(map.get(key) ?? null, depth + 1)
    }
    this.#add('}')
  }

  #isFull(): boolean {
    return this.text.length > this.#lengthMax
  }

  #add(text: string): void {
    if (this.#isFull()) return
    this.text += text
    if (this.#isFull()) this.text = `${this.text.slice(0, this.#lengthMax)}…`
  }
}

function showKey(key: Key): string {
  return typeof key === 'string' ? quote(key) : String(key)
}

function scalar(value: Value): string {
  if (typeof value === 'string') return quote(value)
  if (value instanceof Float) return showFloat(value.value)
  if (value instanceof Undefined) return 'undefined'
  if (value !== null && typeof value === 'object') return isFunction(value) ? 'func' : 'rule'
  return String(value)
}

function showFloat(value: number): string {
  const text = String(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}

function quote(text: string): string {
  return JSON.stringify(text)
}
