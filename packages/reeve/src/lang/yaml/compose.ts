import { YAML_DEPTH_MAX, YAML_NODES_MAX } from './limits.ts'
import { mergeInto } from './merge-key.ts'
import { fail } from './reader.ts'
import { isCollectionTag, resolveScalar, shortTag } from './resolve.ts'
import type { Scanner } from './scan.ts'
import type { MarkKind, ScalarToken, Token } from './token.ts'
import type { YamlValue } from './value.ts'

/** Makes the value of the only document from the tokens; nothing after a problem. */
export function compose(scanner: Scanner): YamlValue | undefined {
  const composer: Composer = { scanner, index: 0, depth: 0, nodeCount: 0, anchors: new Map() }
  while (take(composer, 'document-end'));
  take(composer, 'document-start')
  const node = isNext(composer, ['document-start', 'document-end', 'end'])
    ? EMPTY
    : composeNode(composer, { mayBeSequence: false })
  while (take(composer, 'document-end'));
  if (node === undefined) return undefined
  if (isNext(composer, ['end'])) return node.value
  const message = isNext(composer, ['document-start'])
    ? 'there is more than one document; only one can be read'
    : 'the document should end here'
  return fail(scanner, message, current(composer).at)
}

interface Composer {
  readonly scanner: Scanner
  index: number
  depth: number
  nodeCount: number
  readonly anchors: Map<string, Node | 'open'>
}

/** A value, how many nodes it has when written out, and its own text when it is a scalar. */
interface Node {
  readonly value: YamlValue
  readonly size: number
  readonly text?: string
  readonly isMergeKey?: boolean
}

const EMPTY: Node = { value: null, size: 1, text: '' }

const END: Token = { kind: 'end', at: 0 }

function current(composer: Composer): Token {
  return composer.scanner.tokens[composer.index] ?? END
}

function isNext(composer: Composer, kinds: readonly Token['kind'][]): boolean {
  return kinds.includes(current(composer).kind)
}

function take(composer: Composer, kind: MarkKind): boolean {
  if (current(composer).kind !== kind) return false
  composer.index++
  return true
}

interface Properties {
  readonly anchor: string | undefined
  readonly tag: string | undefined
}

interface Place {
  /** After the key of a block mapping a sequence need not be indented. */
  readonly mayBeSequence: boolean
}

function composeNode(composer: Composer, place: Place): Node | undefined {
  const properties = takeProperties(composer)
  if (properties === undefined) return undefined
  const { anchor } = properties
  if (anchor !== undefined) composer.anchors.set(anchor, 'open')
  const node = composeContent(composer, properties, place)
  if (node === undefined) return undefined
  composer.nodeCount += node.text === undefined ? 1 : node.size
  if (composer.nodeCount > YAML_NODES_MAX)
    return fail(
      composer.scanner,
      `there are more than ${YAML_NODES_MAX} values`,
      current(composer).at,
    )
  if (anchor !== undefined) composer.anchors.set(anchor, node)
  return node
}

/** An anchor and a tag, in any order. */
function takeProperties(composer: Composer): Properties | undefined {
  let anchor: string | undefined
  let tag: string | undefined
  for (;;) {
    const token = current(composer)
    if (token.kind !== 'anchor' && token.kind !== 'tag') return { anchor, tag }
    if ((token.kind === 'anchor' ? anchor : tag) !== undefined)
      return fail(composer.scanner, `a value cannot have two ${token.kind}s`, token.at)
    if (token.kind === 'anchor') anchor = token.name
    else tag = token.name
    composer.index++
  }
}

function composeContent(
  composer: Composer,
  properties: Properties,
  place: Place,
): Node | undefined {
  const token = current(composer)
  switch (token.kind) {
    case 'alias':
      composer.index++
      return composeAlias(composer, properties, token)
    case 'scalar':
      composer.index++
      return composeScalar(composer, properties, token)
    case 'block-sequence-start':
    case 'flow-sequence-start':
      composer.index++
      return composeCollection(composer, properties, token.kind)
    case 'block-mapping-start':
    case 'flow-mapping-start':
      composer.index++
      return composeCollection(composer, properties, token.kind)
    case 'block-entry':
      if (place.mayBeSequence) return composeCollection(composer, properties, 'block-entry')
      break
    default:
  }
  if (
    isNext(composer, ENDS_EMPTY) ||
    properties.anchor !== undefined ||
    properties.tag !== undefined
  )
    return composeScalar(composer, properties, {
      kind: 'scalar',
      at: token.at,
      text: '',
      isPlain: true,
    })
  return fail(composer.scanner, 'a value is expected here', token.at)
}

const ENDS_EMPTY: readonly Token['kind'][] = [
  'block-end',
  'block-entry',
  'flow-entry',
  'flow-mapping-end',
  'flow-sequence-end',
  'key',
  'value',
  'document-start',
  'document-end',
  'end',
]

/** The anchored value itself: values never change, so it can be shared. */
function composeAlias(
  composer: Composer,
  properties: Properties,
  token: { readonly at: number; readonly name: string },
): Node | undefined {
  const { scanner, anchors } = composer
  if (properties.anchor !== undefined || properties.tag !== undefined)
    return fail(scanner, 'an alias can have no anchor and no tag', token.at)
  const node = anchors.get(token.name)
  if (node === undefined)
    return fail(scanner, `there is no anchor named ${JSON.stringify(token.name)}`, token.at)
  if (node === 'open') return fail(scanner, 'a value cannot contain itself', token.at)
  composer.nodeCount += node.text === undefined ? node.size : 0
  return node
}

function composeScalar(
  composer: Composer,
  { tag }: Properties,
  token: ScalarToken,
): Node | undefined {
  const value = resolveScalar(token, tag)
  if (!value.ok) return fail(composer.scanner, value.error, token.at)
  const isMergeKey = token.isPlain && tag === undefined && token.text === '<<'
  return { value: value.value, size: 1, text: token.text, isMergeKey }
}

type CollectionStart =
  | 'block-sequence-start'
  | 'flow-sequence-start'
  | 'block-mapping-start'
  | 'flow-mapping-start'
  | 'block-entry'

function composeCollection(
  composer: Composer,
  { tag }: Properties,
  start: CollectionStart,
): Node | undefined {
  const { scanner } = composer
  const { at } = current(composer)
  if (composer.depth >= YAML_DEPTH_MAX)
    return fail(scanner, `values are nested more than ${YAML_DEPTH_MAX} levels deep`, at)
  const isMapping = start === 'block-mapping-start' || start === 'flow-mapping-start'
  if (tag !== undefined && !isCollectionTag(tag, isMapping ? 'map' : 'seq'))
    return fail(
      scanner,
      `a ${isMapping ? 'mapping' : 'sequence'} cannot be ${JSON.stringify(shortTag(tag))}`,
      at,
    )
  composer.depth++
  const node = isMapping ? composeMapping(composer, start) : composeSequence(composer, start)
  composer.depth--
  return node
}

function composeSequence(composer: Composer, start: CollectionStart): Node | undefined {
  const elements: Node[] = []
  const isDone =
    start === 'flow-sequence-start'
      ? composeFlowElements(composer, elements)
      : composeBlockElements(composer, elements, start === 'block-entry')
  if (!isDone) return undefined
  const size = elements.reduce((sum, one) => sum + one.size, 1)
  return { value: elements.map(({ value }) => value), size }
}

/** A sequence that is not indented ends with what follows; others have an end token. */
function composeBlockElements(composer: Composer, elements: Node[], isOpen: boolean): boolean {
  while (take(composer, 'block-entry')) {
    const isEmpty = isNext(composer, ['block-entry', 'block-end', 'key', 'value'])
    const element = isEmpty ? EMPTY : composeNode(composer, { mayBeSequence: false })
    if (element === undefined) return false
    elements.push(element)
  }
  if (isOpen || take(composer, 'block-end')) return true
  fail(
    composer.scanner,
    'a "-" at the indentation of this sequence is expected',
    current(composer).at,
  )
  return false
}

function composeFlowElements(composer: Composer, elements: Node[]): boolean {
  while (!take(composer, 'flow-sequence-end')) {
    const element = isNext(composer, ['key', 'value'])
      ? composePair(composer)
      : composeFlowNode(composer, 'an element')
    if (element === undefined) return false
    elements.push(element)
    if (isNext(composer, ['flow-sequence-end']) || take(composer, 'flow-entry')) continue
    fail(composer.scanner, 'a "," or "]" is expected', current(composer).at)
    return false
  }
  return true
}

/** `[a: b]` is a sequence with a mapping of one pair. */
function composePair(composer: Composer): Node | undefined {
  const entries: Entry[] = []
  return composeEntry(composer, entries, 'flow') ? toMapping(composer, entries) : undefined
}

function composeFlowNode(composer: Composer, what: string): Node | undefined {
  if (!isNext(composer, ['flow-entry'])) return composeNode(composer, { mayBeSequence: false })
  return fail(composer.scanner, `${what} is missing before ","`, current(composer).at)
}

interface Entry {
  readonly key: Node
  readonly value: Node
  readonly at: number
}

function composeMapping(composer: Composer, start: CollectionStart): Node | undefined {
  const entries: Entry[] = []
  const isDone =
    start === 'flow-mapping-start'
      ? composeFlowEntries(composer, entries)
      : composeBlockEntries(composer, entries)
  return isDone ? toMapping(composer, entries) : undefined
}

function composeBlockEntries(composer: Composer, entries: Entry[]): boolean {
  while (!take(composer, 'block-end')) {
    if (!isNext(composer, ['key', 'value'])) {
      fail(
        composer.scanner,
        'a key at the indentation of this mapping is expected',
        current(composer).at,
      )
      return false
    }
    if (!composeEntry(composer, entries, 'block')) return false
  }
  return true
}

function composeFlowEntries(composer: Composer, entries: Entry[]): boolean {
  while (!take(composer, 'flow-mapping-end')) {
    if (!composeEntry(composer, entries, 'flow')) return false
    if (isNext(composer, ['flow-mapping-end']) || take(composer, 'flow-entry')) continue
    fail(composer.scanner, 'a "," or "}" is expected', current(composer).at)
    return false
  }
  return true
}

/** A key and its value; either may be missing, and so may their marks in a flow mapping. */
function composeEntry(composer: Composer, entries: Entry[], style: 'block' | 'flow'): boolean {
  const { at } = current(composer)
  const place = { mayBeSequence: style === 'block' }
  const hasMark = take(composer, 'key')
  const ends = style === 'block' ? BLOCK_ENTRY_ENDS : FLOW_ENTRY_ENDS
  const hasKey = hasMark ? !isNext(composer, ends) : !isNext(composer, ['value'])
  const key = hasKey
    ? hasMark
      ? composeNode(composer, place)
      : composeFlowNode(composer, 'a key')
    : EMPTY
  if (key === undefined) return false
  const hasValue = take(composer, 'value') && !isNext(composer, ends)
  const value = hasValue ? composeNode(composer, place) : EMPTY
  if (value === undefined) return false
  entries.push({ key, value, at })
  return true
}

const BLOCK_ENTRY_ENDS: readonly Token['kind'][] = ['key', 'value', 'block-end']
const FLOW_ENTRY_ENDS: readonly Token['kind'][] = [
  'key',
  'value',
  'flow-entry',
  'flow-mapping-end',
  'flow-sequence-end',
]

/** Names are the texts of the keys as written, so `1` and `true` are names too. */
function toMapping(composer: Composer, entries: readonly Entry[]): Node | undefined {
  const { scanner } = composer
  const own = new Map<string, YamlValue>()
  const merged = new Map<string, YamlValue>()
  let size = 1
  for (const { key, value, at } of entries) {
    size += 1 + value.size
    if (key.text === undefined) return fail(scanner, 'a key must be text, not a collection', at)
    if (key.isMergeKey === true) {
      if (!mergeInto(merged, value.value))
        return fail(scanner, '"<<" needs a mapping or a sequence of mappings', at)
    } else if (own.has(key.text))
      return fail(scanner, `the key ${JSON.stringify(key.text)} is there twice`, at)
    else own.set(key.text, value.value)
  }
  // What is merged gives way to what the mapping says itself.
  return { value: Object.fromEntries([...merged, ...own]), size }
}
