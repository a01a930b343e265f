import { isAlias, isMap, isScalar, isSeq, Scalar, type Node, type Pair, type YAMLMap } from 'yaml'
import { YAML_NODES_MAX } from './limits.ts'
import { err, ok, type Result } from '../result.ts'
import { fromBigInt, parseNumber } from '../number.ts'

/** A YAML error with its offset in the text. Only thrown inside this folder. */
export class YamlError extends Error {
  override readonly name = 'YamlError'
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** Converts a node of the library's tree to a value. */
export function readNode(node: Node, text: string): YamlValue {
  return new NodeReader(text).read(node)
}

interface Anchored {
  readonly value: YamlValue
  /** Number of values, including nested ones. */
  readonly nodes: number
}

/**
 * Visits the tree once in document order: an alias refers to the last preceding anchor of its name.
 * The library would search the tree for each alias.
 */
class NodeReader {
  readonly #anchors = new Map<string, Anchored | undefined>()
  #nodes = 0
  readonly #openEnd: number | undefined

  constructor(text: string) {
    this.#openEnd = text.endsWith('\n') ? undefined : text.length
  }

  read(node: unknown): YamlValue {
    if (node === null || node === undefined) return this.#counted(1, 0, null)
    if (isAlias(node)) return this.#readAlias(node.source, startOf(node))
    if (!isScalar(node) && !isMap(node) && !isSeq(node))
      throw new YamlError(0, 'the text is not valid')
    const { anchor } = node
    const before = this.#nodes
    // Registered without a value until it is complete: it must not contain itself.
    if (anchor !== undefined) this.#anchors.set(anchor, undefined)
    const value = this.#readOwn(node)
    if (anchor !== undefined) this.#anchors.set(anchor, { value, nodes: this.#nodes - before })
    return value
  }

  #readOwn(node: Node): YamlValue {
    this.#counted(1, startOf(node), null)
    if (isScalar(node)) return readScalar(node, this.#textOf(node))
    checkTag(node)
    if (isSeq(node)) return node.items.map((item) => this.read(item))
    return isMap(node) ? this.#readMap(node) : null
  }

  #readAlias(name: string, at: number): YamlValue {
    if (!this.#anchors.has(name))
      throw new YamlError(at, `there is no anchor named ${JSON.stringify(name)}`)
    const anchored = this.#anchors.get(name)
    if (anchored === undefined) throw new YamlError(at, 'a value cannot contain itself')
    return this.#counted(anchored.nodes, at, anchored.value)
  }

  #readMap(map: YAMLMap): YamlValue {
    const members = new Map<string, YamlValue>()
    const merged: YamlValue[] = []
    for (const pair of map.items) {
      if (isMergeKey(pair)) {
        merged.push(this.#readMerged(pair, startOf(map)))
        continue
      }
      const at = isNode(pair.key) ? startOf(pair.key) : startOf(map)
      const key = this.#readKey(pair.key, at)
      if (members.has(key)) throw new YamlError(at, `the key ${JSON.stringify(key)} is there twice`)
      members.set(key, this.read(pair.value))
    }
    for (const value of merged) mergeInto(members, value)
    return Object.fromEntries(members)
  }

  #readMerged(pair: Pair, at: number): YamlValue {
    const before = this.#nodes
    const value = this.read(pair.value)
    if (!mergeInto(new Map(), value))
      throw new YamlError(at, '"<<" needs a mapping or a sequence of mappings')
    // Merged members are copied, so they count like written ones.
    return this.#counted(this.#nodes - before, at, value)
  }

  /** Keys are strings as written. */
  #readKey(key: unknown, at: number): string {
    this.#counted(1, at, null)
    if (key === null || key === undefined) return ''
    if (isAlias(key)) {
      const value = this.#readAlias(key.source, at)
      if (typeof value === 'object' && value !== null) throw new YamlError(at, NO_TEXT_KEY)
      return String(value ?? '')
    }
    if (!isScalar(key)) throw new YamlError(at, NO_TEXT_KEY)
    const text = this.#textOf(key)
    if (key.anchor !== undefined) this.#anchors.set(key.anchor, { value: text, nodes: 1 })
    return text
  }

  /** Without the line break that the library adds to a block scalar at the end of the text. */
  #textOf({ value, type, range }: Scalar): string {
    if (typeof value !== 'string') return ''
    const isBlock = type === Scalar.BLOCK_LITERAL || type === Scalar.BLOCK_FOLDED
    const isOpen = isBlock && range !== undefined && range !== null && range[1] === this.#openEnd
    return isOpen && value.endsWith('\n') ? value.slice(0, -1) : value
  }

  #counted(nodes: number, at: number, value: YamlValue): YamlValue {
    this.#nodes += nodes
    if (this.#nodes > YAML_NODES_MAX)
      throw new YamlError(at, `there are more than ${YAML_NODES_MAX} values`)
    return value
  }
}

const NO_TEXT_KEY = 'a key must be text, not a collection'

function readScalar(node: Scalar, text: string): YamlValue {
  const token = { text, isPlain: node.type === Scalar.PLAIN }
  const value = resolveScalar(token, node.tag)
  if (!value.ok) throw new YamlError(startOf(node), value.error)
  return value.value
}

function checkTag(node: Node): void {
  const { tag } = node
  const kind = isMap(node) ? 'map' : 'seq'
  if (tag === undefined || isCollectionTag(tag, kind)) return
  const what = kind === 'map' ? 'a mapping' : 'a sequence'
  throw new YamlError(startOf(node), `${what} cannot be ${JSON.stringify(shortTag(tag))}`)
}

function isMergeKey({ key }: Pair): boolean {
  return isScalar(key) && key.type === Scalar.PLAIN && key.value === '<<' && key.tag === undefined
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value)
}

function startOf({ range }: Node): number {
  return range?.[0] ?? 0
}

/** A parsed YAML value: plain data. An integer that a double cannot represent is a bigint. */
export type YamlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly YamlValue[]
  | { readonly [name: string]: YamlValue }

/**
 * The merge key `<<`: adds the members of one mapping or of several, of which the first wins. Not
 * part of YAML 1.2 but the most common use of anchors. Returns false if the value is neither.
 */
function mergeInto(target: Map<string, YamlValue>, value: YamlValue): boolean {
  const sources: readonly YamlValue[] = isSequence(value) ? value : [value]
  for (const source of sources) {
    if (!isMapping(source)) return false
    for (const [name, member] of Object.entries(source))
      if (!target.has(name)) target.set(name, member)
  }
  return true
}

function isSequence(value: YamlValue): value is readonly YamlValue[] {
  return Array.isArray(value)
}

function isMapping(value: YamlValue): value is { readonly [name: string]: YamlValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const CORE = 'tag:yaml.org,2002:'

/** Resolves a scalar by its tag or, if plain, by the core schema. */
function resolveScalar(
  { text, isPlain }: { readonly text: string; readonly isPlain: boolean },
  tag: string | undefined,
): Result<YamlValue, string> {
  if (tag === undefined) return isPlain ? resolvePlain(text) : ok(text)
  if (tag === '!') return ok(text)
  const read = BY_TAG.get(tag)
  if (read === undefined) return err(`the tag ${JSON.stringify(shortTag(tag))} is not known`)
  const value = read(text)
  if (value === undefined)
    return err(`${JSON.stringify(text)} is not a value of ${JSON.stringify(shortTag(tag))}`)
  return ok(value)
}

/** Whether a collection may have this tag. */
function isCollectionTag(tag: string, kind: 'map' | 'seq'): boolean {
  return tag === `${CORE}${kind}` || tag === '!'
}

function shortTag(tag: string): string {
  return tag.startsWith(CORE) ? `!!${tag.slice(CORE.length)}` : tag
}

const NULLS = /^(?:~|null|Null|NULL)?$/
const BOOLS = /^(?:true|True|TRUE|false|False|FALSE)$/
const DECIMAL = /^[-+]?[0-9]+$/
const PREFIXED = /^(?:0o[0-7]+|0x[0-9a-fA-F]+)$/
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

function resolvePlain(text: string): Result<YamlValue, string> {
  if (NULLS.test(text)) return ok(null)
  if (BOOLS.test(text)) return ok(text.toLowerCase() === 'true')
  if (NOT_FINITE.test(text)) return err(`${text} is not a finite number; quote it if it is text`)
  if (!PREFIXED.test(text) && !FLOAT.test(text)) return ok(text)
  const number = readNumber(text)
  return number === undefined ? err(`the number ${text.slice(0, 32)}… is out of range`) : ok(number)
}

/** Longer than the largest number in base 8: longer digits are out of range in every base. */
const PREFIXED_LENGTH_MAX = 400

function readNumber(text: string): number | bigint | undefined {
  if (!PREFIXED.test(text)) return parseNumber(text)
  return text.length > PREFIXED_LENGTH_MAX ? undefined : fromBigInt(BigInt(text))
}

type ReadScalar = (text: string) => YamlValue | undefined

const BY_TAG: ReadonlyMap<string, ReadScalar> = new Map<string, ReadScalar>([
  [`${CORE}str`, (text) => text],
  [`${CORE}null`, (text) => (NULLS.test(text) ? null : undefined)],
  [`${CORE}bool`, (text) => (BOOLS.test(text) ? text.toLowerCase() === 'true' : undefined)],
  [
    `${CORE}int`,
    (text) => (DECIMAL.test(text) || PREFIXED.test(text) ? readNumber(text) : undefined),
  ],
  [`${CORE}float`, (text) => (FLOAT.test(text) ? readNumber(text) : undefined)],
  // Types without a counterpart in JSON stay strings.
  [`${CORE}timestamp`, (text) => text],
  [`${CORE}binary`, (text) => text.replace(/\s+/g, '')],
])
