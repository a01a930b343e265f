import { isAlias, isMap, isScalar, isSeq, Scalar, type Node, type Pair, type YAMLMap } from 'yaml'
import { YAML_NODES_MAX } from './limits.ts'
import { mergeInto } from './merge-key.ts'
import { isCollectionTag, resolveScalar, shortTag } from './resolve.ts'
import type { YamlValue } from './value.ts'

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
