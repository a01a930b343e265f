import { TEMPLATE_LIMITS } from './limits.ts'
import { parsePipeline, type PipeScope } from './parse-pipe.ts'
import { scanTemplate, type Delimiters, type Piece, type Token } from './scan.ts'
import { fail } from './template-error.ts'
import type { BranchNode, Node, Pipeline, TemplateTree } from './tree.ts'

interface ParseOptions extends Delimiters {
  /** Functions that a template may call. */
  readonly functions: { has(name: string): boolean }
}

/** Parses a template of the Go text/template language. Throws a TemplateError with the line. */
export function parseTemplate(source: string, options: ParseOptions): TemplateTree {
  if (source.length > TEMPLATE_LIMITS.sourceCharsMax) fail('the template is too long')
  const parser = new Parser(scanTemplate(source, options), options.functions)
  return parser.parseHcl()
}

type Action = Extract<Piece, { kind: 'action' }>

/** Action that ended a list of nodes. */
interface ListEnd {
  readonly word: 'end' | 'else' | 'eof'
  readonly rest: readonly Token[]
  readonly line: number
}

interface NodeList {
  readonly nodes: readonly Node[]
  readonly end: ListEnd
}

class Parser {
  readonly #pieces: readonly Piece[]
  readonly #functions: ParseOptions['functions']
  readonly #defined = new Map<string, readonly Node[]>()
  /** Variables in scope; `$` is the data. */
  #variables: string[] = ['$']
  #at = 0
  #depth = 0
  #loops = 0

  constructor(pieces: readonly Piece[], functions: ParseOptions['functions']) {
    this.#pieces = pieces
    this.#functions = functions
  }

  parseHcl(): TemplateTree {
    const { nodes, end } = this.#list()
    if (end.word !== 'eof') fail(`line ${end.line}: unexpected {{${end.word}}}`)
    return { root: nodes, defined: this.#defined }
  }

  #list(): NodeList {
    const nodes: Node[] = []
    this.#depth += 1
    if (this.#depth > TEMPLATE_LIMITS.depthMax) fail('blocks are nested too deeply')
    for (;;) {
      const piece = this.#pieces[this.#at]
      this.#at += 1
      if (piece === undefined) return this.#ended(nodes, { word: 'eof', rest: [], line: 0 })
      if (piece.kind === 'text') {
        if (piece.text !== '') nodes.push(piece)
        continue
      }
      const [first, ...rest] = piece.tokens
      const word = first?.kind === 'identifier' ? first.text : ''
      if (word === 'end' || word === 'else') {
        return this.#ended(nodes, { word, rest, line: piece.line })
      }
      const node = this.#node(word, rest, piece)
      if (node !== undefined) nodes.push(node)
    }
  }

  #ended(nodes: readonly Node[], end: ListEnd): NodeList {
    this.#depth -= 1
    return { nodes, end }
  }

  #node(word: string, rest: readonly Token[], { tokens, line }: Action): Node | undefined {
    switch (word) {
      case 'if':
      case 'range':
      case 'with':
        return this.#branch(word, rest, line)
      case 'define':
        this.#define(rest, line)
        return undefined
      case 'block':
        return this.#block(rest, line)
      case 'template':
        return this.#template(rest, line)
      case 'break':
      case 'continue':
        if (rest.length > 0) fail(`line ${line}: unexpected text in {{${word}}}`)
        if (this.#loops === 0) fail(`line ${line}: {{${word}}} outside {{range}}`)
        return { kind: word }
      default:
        return { kind: 'action', pipe: this.#pipe(tokens, line), line }
    }
  }

  #pipe(tokens: readonly Token[], line: number, isRange = false): Pipeline {
    const scope: PipeScope = {
      functions: this.#functions,
      variables: this.#variables,
      line,
      isRange,
    }
    const pipe = parsePipeline(tokens, scope)
    if (!pipe.isAssignment) this.#variables.push(...pipe.variables)
    return pipe
  }

  #branch(kind: BranchNode['kind'], tokens: readonly Token[], line: number): BranchNode {
    const visible = [...this.#variables]
    const pipe = this.#pipe(tokens, line, kind === 'range')
    if (kind === 'range') this.#loops += 1
    const inside = [...this.#variables]
    const { nodes: body, end } = this.#list()
    if (kind === 'range') this.#loops -= 1
    this.#variables = inside
    const otherwise = end.word === 'else' ? this.#otherwise(kind, end) : []
    if (end.word === 'eof') fail(`line ${line}: {{${kind}}} without {{end}}`)
    this.#variables = visible
    return { kind, pipe, body, otherwise, line }
  }

  /** `{{else if x}}` is `{{else}}{{if x}}` with one `{{end}}` for both; so is `{{else with x}}`. */
  #otherwise(kind: BranchNode['kind'], { rest, line }: ListEnd): readonly Node[] {
    const [first, ...tokens] = rest
    if (first !== undefined) {
      const isChained = first.kind === 'identifier' && first.text === kind && kind !== 'range'
      if (!isChained) fail(`line ${line}: unexpected text in {{else}}`)
      return [this.#branch(kind, tokens, line)]
    }
    const { nodes, end } = this.#list()
    if (end.word !== 'end') fail(`line ${line}: {{else}} without {{end}}`)
    return nodes
  }

  #define(tokens: readonly Token[], line: number): void {
    const { name, rest } = namedAction(tokens, 'define', line)
    if (rest.length > 0) fail(`line ${line}: unexpected text in {{define}}`)
    this.#defined.set(name, this.#body('define', line))
  }

  #block(tokens: readonly Token[], line: number): Node {
    const { name, rest } = namedAction(tokens, 'block', line)
    const pipe = this.#pipe(rest, line)
    const body = this.#body('block', line)
    // A `define` elsewhere replaces the default content of a block.
    if (!this.#defined.has(name)) this.#defined.set(name, body)
    return { kind: 'template', name, pipe, line }
  }

  /** Parses the content of a definition, where only its own data is in scope. */
  #body(word: string, line: number): readonly Node[] {
    const [variables, loops] = [this.#variables, this.#loops]
    this.#variables = ['$']
    this.#loops = 0
    const { nodes, end } = this.#list()
    if (end.word !== 'end') fail(`line ${line}: {{${word}}} without {{end}}`)
    this.#variables = variables
    this.#loops = loops
    return nodes
  }

  #template(tokens: readonly Token[], line: number): Node {
    const { name, rest } = namedAction(tokens, 'template', line)
    const pipe = rest.length === 0 ? undefined : this.#pipe(rest, line)
    return { kind: 'template', name, pipe, line }
  }
}

function namedAction(
  [first, ...rest]: readonly Token[],
  word: string,
  line: number,
): { readonly name: string; readonly rest: readonly Token[] } {
  if (first?.kind !== 'string') return fail(`line ${line}: {{${word}}} needs a quoted name`)
  return { name: first.text, rest }
}
