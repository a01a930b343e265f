import { NESTING_DEPTH_MAX } from '../limits.ts'
import type { Cursor } from './cursor.ts'
import { parseBracedBody, parseCondition } from './parse-literal.ts'
import { nameOf, parseOperands, parseStatementTerm, parseTerm } from './parse-term.ts'
import type { Body, ElseBranch, Rule, Term } from './ast.ts'

interface Head {
  readonly at: number
  readonly path: readonly Term[]
  readonly parameters: readonly Term[] | undefined
  readonly member: Term | undefined
  readonly value: Term | undefined
}

/** One definition, or several of the same head: `p if { a } { b }`. */
export function parseRules(cursor: Cursor): readonly Rule[] {
  if (cursor.skipKeyword('default')) return [parseDefault(cursor)]
  const head = parseHead(cursor)
  const hasIf = cursor.isKeyword('if')
  const isSet = isBareSet(cursor, head, hasIf)
  const value = head.value ?? truth(head.at)
  const rule = {
    isDefault: false,
    at: head.at,
    path: isSet ? head.path.slice(0, 1) : head.path,
    parameters: head.parameters,
    member: isSet ? head.path[1] : head.member,
    value,
  }
  const bodies = hasIf ? [parseIf(cursor)] : parseBareBodies(cursor, head)
  const [first = []] = bodies
  const otherwise = parseElse(cursor, rule.member !== undefined)
  const hasMore = otherwise === undefined && bodies.length > 0
  const others = hasMore ? parseChainedBodies(cursor) : []
  const { row } = cursor.previous
  return [
    { ...rule, body: first, otherwise, row },
    ...others.map((body) => ({ ...rule, body, otherwise: undefined, row })),
  ]
}

/** Version 0: `p[x]` and `p.x` without value, `if` and `contains` add to a set. */
function isBareSet(cursor: Cursor, head: Head, hasIf: boolean): boolean {
  return (
    cursor.reading.version === 0 &&
    !hasIf &&
    !cursor.reading.keywords.has('contains') &&
    head.path.length === 2 &&
    head.parameters === undefined &&
    head.member === undefined &&
    head.value === undefined
  )
}

function parseIf(cursor: Cursor): Body {
  cursor.take()
  return parseCondition(cursor)
}

/** A body without `if` is of version 0. */
function parseBareBodies(cursor: Cursor, head: Head): readonly Body[] {
  if (cursor.is('{')) {
    if (cursor.reading.version === 1) cursor.failHere('`if` keyword is required before rule body')
    return [parseBracedBody(cursor)]
  }
  if (cursor.reading.version === 1) checkBodiless(cursor, head)
  return []
}

/** Further bodies of the same head, which need no `if` in either version. */
function parseChainedBodies(cursor: Cursor): readonly Body[] {
  const bodies: Body[] = []
  while (cursor.is('{')) bodies.push(parseBracedBody(cursor))
  return bodies
}

/** Version 1: what has neither a body nor a value would only repeat a name. */
function checkBodiless(cursor: Cursor, head: Head): void {
  if (head.value === undefined && head.member === undefined)
    cursor.fail(head.at, '`if` keyword, `contains` keyword or a value is required')
}

function parseElse(cursor: Cursor, isSet: boolean): ElseBranch | undefined {
  if (!cursor.isKeyword('else')) return undefined
  return cursor.nested(() => {
    const { at } = cursor.take()
    if (isSet) cursor.fail(at, '`else` cannot be used on rules that add to a set')
    const value = parseValue(cursor) ?? truth(at)
    const body = parseElseBody(cursor)
    return { at, value, body, otherwise: parseElse(cursor, false) }
  })
}

function parseElseBody(cursor: Cursor): Body {
  if (cursor.skipKeyword('if')) return parseCondition(cursor)
  if (!cursor.is('{')) return []
  if (cursor.reading.version === 1) cursor.failHere('`if` keyword is required before rule body')
  return parseBracedBody(cursor)
}

function parseDefault(cursor: Cursor): Rule {
  const head = parseHead(cursor)
  if (head.value === undefined || head.member !== undefined)
    cursor.fail(head.at, 'a default rule needs a value')
  if (cursor.isKeyword('if') || (cursor.is('{') && cursor.token.row === cursor.previous.row))
    cursor.failHere('a default rule has no body')
  const { row } = cursor.previous
  const { at, path, parameters, value } = head
  const rest = { member: undefined, body: [], otherwise: undefined, row }
  return { isDefault: true, at, path, parameters, value, ...rest }
}

function parseHead(cursor: Cursor): Head {
  const { at } = cursor.token
  const path = parseHeadPath(cursor)
  const parameters = cursor.isAdjacent('(') ? parseOperands(cursor) : undefined
  if (cursor.isKeyword('contains')) {
    if (parameters !== undefined) cursor.failHere('a function has one value')
    cursor.take()
    return { at, path, parameters, member: parseTerm(cursor), value: undefined }
  }
  return { at, path, parameters, member: undefined, value: parseValue(cursor) }
}

function parseHeadPath(cursor: Cursor): Term[] {
  const { token } = cursor
  if (token.kind !== 'name' || cursor.isAnyKeyword()) cursor.failHere('expected a rule')
  cursor.take()
  const name = nameOf(cursor, token.text)
  const path: Term[] = [{ type: 'scalar', at: token.at, value: name }]
  for (;;) {
    if (cursor.isAdjacent('.')) {
      cursor.take()
      const segment = cursor.token
      if (segment.kind !== 'name') cursor.failHere('expected a name')
      cursor.take()
      path.push({ type: 'scalar', at: segment.at, value: segment.text })
    } else if (cursor.isAdjacent('[')) {
      cursor.take()
      path.push(parseTerm(cursor))
      cursor.expect(']')
    } else return path
    if (path.length > NESTING_DEPTH_MAX) cursor.failHere('the path of the rule is too long')
  }
}

function parseValue(cursor: Cursor): Term | undefined {
  return cursor.skip(':=') || cursor.skip('=') ? parseStatementTerm(cursor) : undefined
}

function truth(at: number): Term {
  return { type: 'scalar', at, value: true }
}
