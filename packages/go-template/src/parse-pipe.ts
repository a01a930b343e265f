import { TEMPLATE_LIMITS } from './limits.ts'
import type { Token } from './scan.ts'
import { fail } from './template-error.ts'
import type { Command, Operand, Pipeline } from './tree.ts'
import type { Value } from './value.ts'

export interface PipeScope {
  readonly functions: { has(name: string): boolean }
  /** Variables that may be used here. */
  readonly variables: readonly string[]
  readonly line: number
  /** Two variables may be declared: the key and the element. */
  readonly isRange: boolean
}

export function parsePipeline(tokens: readonly Token[], scope: PipeScope): Pipeline {
  return new PipeParser(tokens, scope).parse()
}

class PipeParser {
  readonly #tokens: readonly Token[]
  readonly #scope: PipeScope
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[], scope: PipeScope) {
    this.#tokens = tokens
    this.#scope = scope
  }

  parse(): Pipeline {
    const pipe = this.#pipe()
    if (this.#at < this.#tokens.length) this.#unexpected()
    return pipe
  }

  #pipe(): Pipeline {
    this.#depth += 1
    if (this.#depth > TEMPLATE_LIMITS.depthMax) this.#fail('brackets are nested too deeply')
    const { variables, isAssignment } = this.#declaration()
    const commands: Command[] = [this.#command()]
    while (this.#isMark('|')) {
      this.#at += 1
      commands.push(this.#command())
    }
    this.#depth -= 1
    return { variables, isAssignment, commands }
  }

  #declaration(): Pick<Pipeline, 'variables' | 'isAssignment'> {
    const names: string[] = []
    let at = this.#at
    for (;;) {
      const token = this.#tokens[at]
      if (token?.kind !== 'variable') break
      names.push(token.text)
      at += 1
      if (this.#tokens[at]?.text !== ',' || this.#tokens[at]?.kind !== 'mark') break
      at += 1
    }
    const mark = this.#tokens[at]
    const isDeclared = mark?.kind === 'mark' && (mark.text === ':=' || mark.text === '=')
    if (names.length === 0 || !isDeclared) return { variables: [], isAssignment: false }
    if (names.length > (this.#scope.isRange ? 2 : 1)) this.#fail('too many declarations')
    const isAssignment = mark.text === '='
    if (isAssignment) for (const name of names) this.#requireVariable(name)
    this.#at = at + 1
    return { variables: names, isAssignment }
  }

  #command(): Command {
    const operands: Operand[] = []
    for (;;) {
      const token = this.#tokens[this.#at]
      const isOver = token === undefined || (token.kind === 'mark' && '|)'.includes(token.text))
      if (isOver) break
      if (operands.length > 0 && !token.isSpaced) this.#unexpected()
      operands.push(this.#operand(token))
    }
    if (operands.length === 0) this.#fail('missing value for command')
    return operands
  }

  #operand(token: Token): Operand {
    this.#at += 1
    switch (token.kind) {
      case 'dot':
        return { kind: 'dot' }
      case 'field':
        return { kind: 'field', names: [token.text, ...this.#names()] }
      case 'variable':
        this.#requireVariable(token.text)
        return { kind: 'variable', name: token.text, names: this.#names() }
      case 'identifier':
        return this.#word(token.text)
      case 'string':
        return { kind: 'literal', value: token.text }
      case 'character':
        return { kind: 'literal', value: this.#character(token.text) }
      case 'number':
        return { kind: 'literal', value: this.#number(token.text) }
      case 'mark': {
        if (token.text !== '(') return this.#unexpected(-1)
        const pipe = this.#pipe()
        if (!this.#isMark(')')) this.#fail('unclosed left paren')
        this.#at += 1
        return { kind: 'pipe', pipe, names: this.#names() }
      }
    }
  }

  /** Fields that follow without a blank: `.a.b`, `$x.a`, `(f).a`. */
  #names(): readonly string[] {
    const names: string[] = []
    for (;;) {
      const token = this.#tokens[this.#at]
      if (token?.kind !== 'field' || token.isSpaced) return names
      names.push(token.text)
      this.#at += 1
    }
  }

  #word(name: string): Operand {
    if (name === 'true' || name === 'false') return { kind: 'literal', value: name === 'true' }
    if (name === 'nil') return { kind: 'literal', value: null }
    if (!this.#scope.functions.has(name)) this.#fail(`function ${JSON.stringify(name)} not defined`)
    return { kind: 'function', name }
  }

  #requireVariable(name: string): void {
    if (!this.#scope.variables.includes(name))
      this.#fail(`undefined variable ${JSON.stringify(name)}`)
  }

  #character(text: string): Value {
    const characters = Array.from(text)
    if (characters.length !== 1) this.#fail('malformed character constant')
    return BigInt(characters[0]?.codePointAt(0) ?? 0)
  }

  #number(text: string): Value {
    const plain = text.replaceAll('_', '')
    const sign = plain.startsWith('-') ? -1n : 1n
    const digits = plain.replace(/^[+-]/, '')
    if (/^0[xXbBoO]/.test(digits) || /^(0|[1-9]\d*)$/.test(digits)) return sign * BigInt(digits)
    if (/^0[0-7]+$/.test(digits)) return sign * BigInt(`0o${digits.slice(1)}`)
    const value = Number(plain)
    if (!Number.isFinite(value)) this.#fail(`bad number syntax: ${JSON.stringify(text)}`)
    return value
  }

  #isMark(text: string): boolean {
    const token = this.#tokens[this.#at]
    return token?.kind === 'mark' && token.text === text
  }

  #unexpected(offset = 0): never {
    const text = this.#tokens[this.#at + offset]?.text ?? 'end of action'
    return this.#fail(`unexpected ${JSON.stringify(text)}`)
  }

  #fail(message: string): never {
    return fail(`line ${this.#scope.line}: ${message}`)
  }
}
