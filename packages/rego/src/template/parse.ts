import { TEMPLATE_DEPTH_MAX } from '../builtins/limits.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parsePipeline, type Pipeline } from './pipeline.ts'

/** A text with actions between `{{` and `}}`. */
export type TemplateNode =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'print'; readonly pipeline: Pipeline }
  | BlockNode
  | { readonly type: 'break' | 'continue' }

export interface BlockNode {
  readonly type: 'if' | 'range' | 'with'
  readonly pipeline: Pipeline
  readonly body: readonly TemplateNode[]
  readonly otherwise: readonly TemplateNode[]
}

interface Reader {
  readonly pieces: readonly Piece[]
  at: number
  loops: number
}
type Piece = { readonly text: string } | { readonly action: string }
type Nodes = Result<readonly TemplateNode[], string>

export function parseTemplate(source: string): Nodes {
  const pieces = splitPieces(source)
  if (!pieces.ok) return pieces
  const reader: Reader = { pieces: pieces.value, at: 0, loops: 0 }
  const nodes = parseNodes(reader, 0)
  if (!nodes.ok) return nodes
  const rest = reader.pieces[reader.at]
  if (rest === undefined) return nodes
  return err(`unexpected {{${'action' in rest ? rest.action : ''}}}`)
}

/** `{{-` and `-}}` take the white space beside them away; comments leave nothing. */
function splitPieces(source: string): Result<readonly Piece[], string> {
  const pieces: Piece[] = []
  let at = 0
  let isTrimmed = false
  for (;;) {
    const open = source.indexOf('{{', at)
    const raw = source.slice(at, open < 0 ? undefined : open)
    const text = isTrimmed ? raw.trimStart() : raw
    const trimsLeft = open >= 0 && /^\{\{-\s/.test(source.slice(open, open + 4))
    pieces.push({ text: trimsLeft ? text.trimEnd() : text })
    if (open < 0) return ok(pieces)
    const start = open + (trimsLeft ? 3 : 2)
    const close = findClose(source, start)
    if (close === undefined) return err('unclosed action')
    const body = source.slice(start, close)
    isTrimmed = /\s-$/.test(body)
    const action = (isTrimmed ? body.slice(0, -1) : body).trim()
    if (!action.startsWith('/*')) pieces.push({ action })
    at = close + 2
  }
}

/** Where the action ends; what is in quotes or in a comment does not end it. */
function findClose(source: string, start: number): number | undefined {
  const first = source.slice(start).search(/\S/)
  if (source.startsWith('/*', start + first)) {
    const end = source.indexOf('*/', start)
    const close = end < 0 ? -1 : source.indexOf('}}', end)
    return close < 0 ? undefined : close
  }
  for (let at = start; at < source.length; at++) {
    const sign = source[at]
    if (sign === '}' && source[at + 1] === '}') return at
    if (sign !== '"' && sign !== '`') continue
    for (at++; at < source.length && source[at] !== sign; at++)
      if (sign === '"' && source[at] === '\\') at++
  }
  return undefined
}

function parseNodes(reader: Reader, depth: number): Nodes {
  if (depth > TEMPLATE_DEPTH_MAX) return err('the template is nested too deeply')
  const nodes: TemplateNode[] = []
  for (;;) {
    const piece = reader.pieces[reader.at]
    if (piece === undefined) return ok(nodes)
    if ('text' in piece) {
      if (piece.text !== '') nodes.push({ type: 'text', text: piece.text })
      reader.at++
      continue
    }
    const [word = ''] = /^[a-z]+(?=\s|$)/.exec(piece.action) ?? []
    if (word === 'end' || word === 'else') return ok(nodes)
    reader.at++
    const node = parseAction(reader, { action: piece.action, word, depth })
    if (!node.ok) return node
    nodes.push(node.value)
  }
}

interface Action {
  readonly action: string
  readonly word: string
  readonly depth: number
}

function parseAction(
  reader: Reader,
  { action, word, depth }: Action,
): Result<TemplateNode, string> {
  if (word === 'if' || word === 'range' || word === 'with')
    return parseBlock(reader, { type: word, head: action.slice(word.length), depth })
  if (word === 'break' || word === 'continue')
    return reader.loops > 0 ? ok({ type: word }) : err(`{{${word}}} outside {{range}}`)
  if (word === 'define' || word === 'template' || word === 'block')
    return err(`{{${word}}} is not allowed here: a template has no other templates`)
  const pipeline = parsePipeline(action)
  return pipeline.ok ? ok({ type: 'print', pipeline: pipeline.value }) : pipeline
}

interface Block {
  readonly type: BlockNode['type']
  readonly head: string
  readonly depth: number
}

function parseBlock(reader: Reader, { type, head, depth }: Block): Result<BlockNode, string> {
  const pipeline = parsePipeline(head.trim())
  if (!pipeline.ok) return pipeline
  if (type === 'range') reader.loops++
  const body = parseNodes(reader, depth + 1)
  if (type === 'range') reader.loops--
  if (!body.ok) return body
  const otherwise = parseElse(reader, depth)
  if (!otherwise.ok) return otherwise
  return ok({ type, pipeline: pipeline.value, body: body.value, otherwise: otherwise.value })
}

/** `{{else if …}}` is a block of its own that needs no end. */
function parseElse(reader: Reader, depth: number): Nodes {
  const piece = reader.pieces[reader.at]
  reader.at++
  if (piece === undefined || !('action' in piece)) return err('unexpected EOF')
  if (piece.action === 'end') return ok([])
  const chained = /^else\s+(if|with)\s+(.*)$/s.exec(piece.action)
  if (chained !== null) {
    const type = chained[1] === 'if' ? 'if' : 'with'
    const block = parseBlock(reader, { type, head: chained[2] ?? '', depth: depth + 1 })
    return block.ok ? ok([block.value]) : block
  }
  const nodes = parseNodes(reader, depth + 1)
  if (!nodes.ok) return nodes
  const end = reader.pieces[reader.at]
  reader.at++
  return end !== undefined && 'action' in end && end.action === 'end'
    ? nodes
    : err('expected {{end}}')
}
