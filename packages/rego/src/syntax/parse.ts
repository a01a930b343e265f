import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NESTING_DEPTH_MAX } from '../limits.ts'
import { Cursor, type FutureKeyword, type ParserState, type RegoVersion } from './cursor.ts'
import { parseBody } from './parse-literal.ts'
import { parseRules } from './parse-rule.ts'
import { parseTerm } from './parse-term.ts'
import { RegoCompileError, type RegoDiagnostic, type Source } from './source.ts'
import { scan } from './scan.ts'
import type { Token } from './token.ts'
import type { Body, Import, Module, Rule } from './ast.ts'

const VERSION_1_KEYWORDS = ['if', 'contains', 'in', 'every'] as const
const ALL_KEYWORDS = [...VERSION_1_KEYWORDS, 'not', 'and', 'or'] as const

export function parseModule(source: Source, version: RegoVersion): Result<Module, RegoDiagnostic> {
  const parsed = parseWithTokens(source, version)
  return parsed.ok ? ok(parsed.value.module) : parsed
}

/** A module with what it was read from. */
export interface ParsedText {
  readonly module: Module
  readonly tokens: readonly Token[]
  /** Where the braces of bodies open. */
  readonly bodyStarts: ReadonlySet<number>
}

export function parseWithTokens(
  source: Source,
  version: RegoVersion,
): Result<ParsedText, RegoDiagnostic> {
  return caught(source, () => {
    const { tokens, comments } = scan(source)
    const cursor = new Cursor(startReading(source, version), tokens)
    const header = parsePackage(cursor)
    const imports = [...parseImports(cursor)]
    const rules: Rule[] = []
    while (!cursor.isAtEnd()) {
      if (cursor.isKeyword('import')) {
        // They count for the whole module, wherever they are.
        imports.push(...parseImports(cursor))
        continue
      }
      rules.push(...parseRules(cursor))
      if (!cursor.isAtEnd() && cursor.token.row === cursor.previous.row)
        cursor.failHere('expected a line end')
    }
    const module = { ...header, imports, rules, comments }
    return { module, tokens, bodyStarts: cursor.reading.bodyStarts }
  })
}

/** A query: the literals of a body. It has all keywords. */
export function parseQuery(source: Source, version: RegoVersion): Result<Body, RegoDiagnostic> {
  return caught(source, () => {
    const reading = startReading(source, version)
    for (const word of VERSION_1_KEYWORDS) reading.keywords.add(word)
    const cursor = new Cursor(reading, scan(source).tokens)
    const body = parseBody(cursor)
    if (cursor.token.kind !== 'end') cursor.failHere('expected the end of the query')
    return body
  })
}

function startReading(source: Source, version: RegoVersion): ParserState {
  const keywords = new Set<FutureKeyword>(version === 1 ? VERSION_1_KEYWORDS : [])
  const bodyStarts = new Set<number>()
  return { source, version, keywords, wildcardCount: 0, depth: 0, bodyStarts, readBody: parseBody }
}

function caught<T>(source: Source, read: () => T): Result<T, RegoDiagnostic> {
  try {
    return ok(read())
  } catch (error) {
    if (error instanceof RegoCompileError) return err(error.problem)
    throw new Error(`cannot read ${source.file}`, { cause: error })
  }
}

function parsePackage(cursor: Cursor): Pick<Module, 'package' | 'packageAt' | 'packageRow'> {
  if (!cursor.isKeyword('package')) cursor.failHere('expected `package`')
  const { at, row } = cursor.take()
  return { package: parseNames(cursor), packageAt: at, packageRow: row }
}

/** `a.b["c"]` */
function parseNames(cursor: Cursor): string[] {
  const { token } = cursor
  if (token.kind !== 'name') cursor.failHere('expected a name')
  cursor.take()
  const names = [token.text]
  for (;;) {
    if (cursor.isAdjacent('.')) {
      cursor.take()
      const segment = cursor.token
      if (segment.kind !== 'name') cursor.failHere('expected a name')
      names.push(cursor.take().text)
    } else if (cursor.isAdjacent('[')) {
      cursor.take()
      const key = parseTerm(cursor)
      if (key.type !== 'scalar' || typeof key.value !== 'string')
        cursor.fail(key.at, 'expected a string')
      names.push(key.value)
      cursor.expect(']')
    } else return names
    if (names.length > NESTING_DEPTH_MAX) cursor.failHere('the path is too long')
  }
}

function parseImports(cursor: Cursor): readonly Import[] {
  const imports: Import[] = []
  while (cursor.isKeyword('import')) {
    const { at } = cursor.take()
    const path = parseNames(cursor)
    const alias = cursor.skipKeyword('as') ? parseAlias(cursor) : undefined
    cursor.skip(';')
    const imported = { at, path, alias }
    if (!enableKeywords(cursor, imported)) imports.push(imported)
  }
  return imports
}

function parseAlias(cursor: Cursor): string {
  const { kind, text } = cursor.token
  if (kind !== 'name' || cursor.isAnyKeyword()) cursor.failHere('expected a name')
  if (text === 'input' || text === 'data')
    cursor.failHere('expected a name other than `input` and `data`')
  return cursor.take().text
}

/** Whether the import was for the reader: `rego.v1`, `rego.v2`, `future.keywords`. */
function enableKeywords(cursor: Cursor, { at, path, alias }: Import): boolean {
  const [root, area, word] = path
  const { keywords } = cursor.reading
  if (root === 'rego') {
    if ((area !== 'v1' && area !== 'v2') || path.length !== 2)
      cursor.fail(at, 'invalid import, must be `rego.v1` or `rego.v2`')
    if (alias !== undefined) cursor.fail(at, '`rego` imports cannot be aliased')
    for (const known of area === 'v1' ? VERSION_1_KEYWORDS : ALL_KEYWORDS) keywords.add(known)
    cursor.reading.version = 1
    return true
  }
  if (root === 'future') {
    if (area !== 'keywords' || path.length > 3)
      cursor.fail(at, 'invalid import, must be `future.keywords`')
    if (alias !== undefined) cursor.fail(at, '`future` imports cannot be aliased')
    if (word === undefined) for (const known of ALL_KEYWORDS) keywords.add(known)
    else keywords.add(futureKeyword(cursor, at, word))
    // `every x in xs` needs both.
    if (word === 'every') keywords.add('in')
    return true
  }
  if (root !== 'data' && root !== 'input')
    cursor.fail(at, 'unexpected import path, must begin with one of: {data, future, input, rego}')
  return false
}

function futureKeyword(cursor: Cursor, at: number, word: string): FutureKeyword {
  const known = ALL_KEYWORDS.find((keyword) => keyword === word)
  if (known === undefined)
    cursor.fail(at, `unexpected keyword, must be one of: ${ALL_KEYWORDS.join(', ')}`)
  return known
}
