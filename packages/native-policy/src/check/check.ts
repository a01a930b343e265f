import { PROBLEM_COUNT_MAX } from '../limits.ts'
import type { NativeDiagnostic, Source } from '../syntax/source.ts'
import type {
  CaseStatement,
  Expression,
  ForStatement,
  FunctionExpression,
  IfStatement,
  Name,
  Statement,
  Tree,
} from '../syntax/ast.ts'
import { childExpressions } from '../syntax/walk.ts'

/** Constants of every policy. */
const PREDECLARED_CONSTANTS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'undefined'])

export interface CheckOptions {
  /** Names of the predeclared functions. */
  readonly builtins: ReadonlySet<string>
  /** Why an import is not available; undefined if it is. */
  readonly importError: (path: string) => string | undefined
  /** Modules have no parameters. */
  readonly isModule: boolean
}

/** Reports errors that can be detected without evaluation. */
export function check(
  source: Source,
  tree: Tree,
  options: CheckOptions,
): readonly NativeDiagnostic[] {
  const checker = new Checker(source, options)
  checker.imports(tree)
  checker.params(tree)
  checker.functions(tree)
  checker.statements(tree.statements, FILE)
  return checker.problems
}

/** The context of a statement. */
interface Surroundings {
  readonly isFile: boolean
  readonly isFunction: boolean
  readonly isLoop: boolean
}

const FILE: Surroundings = { isFile: true, isFunction: false, isLoop: false }

class Checker {
  readonly problems: NativeDiagnostic[] = []
  readonly #source: Source
  readonly #options: CheckOptions
  readonly #imported = new Set<string>()
  readonly #named = new Set<string>()

  constructor(source: Source, options: CheckOptions) {
    this.#source = source
    this.#options = options
  }

  imports({ imports }: Tree): void {
    const paths = new Set<string>()
    for (const { path, name, spot } of imports) {
      const complaint = this.#options.importError(path)
      if (complaint !== undefined) this.#add(spot.start, complaint)
      else if (paths.has(path)) this.#add(spot.start, `"${path}" is imported twice`)
      else if (name === undefined)
        this.#add(spot.start, `"${path}" is no name: write import "${path}" as name`)
      else if (this.#imported.has(name)) this.#add(spot.start, `"${name}" names two imports`)
      paths.add(path)
      if (name !== undefined) this.#imported.add(name)
    }
  }

  params({ params }: Tree): void {
    const names = new Set<string>()
    for (const { name, spot } of params) {
      if (this.#options.isModule) this.#add(spot.start, 'a module has no params')
      else if (names.has(name)) this.#add(spot.start, `the param "${name}" is declared twice`)
      else if (this.#imported.has(name))
        this.#add(spot.start, `the param "${name}" is called like an import`)
      else if (this.#isPredeclared(name))
        this.#add(spot.start, `the param "${name}" is called like a predeclared name`)
      names.add(name)
    }
  }

  /** A named function must be the only declaration of its name. */
  functions({ statements, params }: Tree): void {
    const taken = new Set(params.map(({ name }) => name))
    for (const statement of statements) {
      if (statement.kind === 'assign') taken.add(statement.target.name)
      if (statement.kind !== 'named-function') continue
      const { name, spot } = statement.name
      if (taken.has(name) || this.#named.has(name) || this.#imported.has(name))
        this.#add(spot.start, `the name "${name}" is taken: a function needs one of its own`)
      this.#named.add(name)
    }
  }

  statements(statements: readonly Statement[], where: Surroundings): void {
    for (const statement of statements) this.#statement(statement, where)
  }

  #statement(statement: Statement, where: Surroundings): void {
    switch (statement.kind) {
      case 'assign':
        this.#target(statement.target, statement.path.length > 0)
        for (const index of statement.path) this.#expression(index)
        return this.#assigned(statement)
      case 'if':
        return this.#if(statement, where)
      case 'case':
        return this.#case(statement, where)
      case 'for':
        return this.#for(statement, where)
      case 'named-function':
        if (!where.isFile)
          this.#add(statement.spot.start, 'a named function stands at the level of the file')
        return this.#function(statement.value)
      case 'return':
        if (!where.isFunction) this.#add(statement.spot.start, '"return" is outside a function')
        return this.#expression(statement.value)
      case 'break':
      case 'continue':
        if (!where.isLoop) this.#add(statement.spot.start, `"${statement.kind}" is outside a loop`)
        return
      case 'expression':
        return this.#effect(statement.value)
    }
  }

  #assigned({ value, operator }: Extract<Statement, { kind: 'assign' }>): void {
    this.#expression(value)
    if ((operator === '/' || operator === '%') && isZero(value))
      this.#add(value.spot.start, 'division by zero')
  }

  #target({ name, spot }: Name, isIndexed: boolean): void {
    if (PREDECLARED_CONSTANTS.has(name))
      this.#add(spot.start, `"${name}" is a constant: nothing can be assigned to it`)
    else if (this.#named.has(name))
      this.#add(spot.start, `"${name}" is a function: nothing can be assigned to it`)
    else if (isIndexed && this.#imported.has(name))
      this.#add(spot.start, `"${name}" is an import: nothing in it can be assigned`)
  }

  #if({ condition, consequence, otherwise }: IfStatement, where: Surroundings): void {
    this.#expression(condition)
    this.statements(consequence, inside(where))
    this.statements(otherwise, inside(where))
  }

  #case({ subject, clauses, otherwise }: CaseStatement, where: Surroundings): void {
    if (subject !== undefined) this.#expression(subject)
    for (const { values, body } of clauses) {
      for (const value of values) this.#expression(value)
      this.statements(body, inside(where))
    }
    this.statements(otherwise ?? [], inside(where))
  }

  #for({ collection, variables, body }: ForStatement, where: Surroundings): void {
    this.#expression(collection)
    this.#fresh(variables.key === undefined ? [variables.value] : [variables.key, variables.value])
    this.statements(body, { ...inside(where), isLoop: true })
  }

  #function({ parameters, body }: FunctionExpression): void {
    this.#fresh(parameters)
    const names = new Set<string>()
    for (const { name, spot } of parameters) {
      if (names.has(name) && name !== '_')
        this.#add(spot.start, `the parameter "${name}" is named twice`)
      names.add(name)
    }
    this.statements(body, { isFile: false, isFunction: true, isLoop: false })
  }

  /** Declares names in the current scope. */
  #fresh(names: readonly Name[]): void {
    for (const { name, spot } of names)
      if (PREDECLARED_CONSTANTS.has(name))
        this.#add(spot.start, `"${name}" is a constant: it cannot be a variable`)
  }

  /** An expression whose value is unused: the only position where `append` is allowed. */
  #effect(value: Expression): void {
    if (isAppend(value)) for (const arg of value.args) this.#expression(arg)
    else this.#expression(value)
  }

  #expression(node: Expression): void {
    if (isAppend(node) && !this.#named.has('append'))
      this.#add(node.spot.start, '"append" changes its list and has no value to use')
    if (node.kind === 'binary' && isDivision(node.operator) && isZero(node.right))
      this.#add(node.right.spot.start, 'division by zero')
    if (node.kind === 'function') return this.#function(node)
    if (node.kind === 'quantifier') {
      const { key, value } = node.variables
      this.#fresh(key === undefined ? [value] : [key, value])
    }
    for (const child of childExpressions(node)) this.#expression(child)
  }

  #isPredeclared(name: string): boolean {
    return PREDECLARED_CONSTANTS.has(name) || this.#options.builtins.has(name)
  }

  #add(at: number, message: string): void {
    if (this.problems.length < PROBLEM_COUNT_MAX)
      this.problems.push(this.#source.problemAt(at, message))
  }
}

function inside(where: Surroundings): Surroundings {
  return { ...where, isFile: false }
}

function isAppend(node: Expression): node is Extract<Expression, { kind: 'call' }> {
  return node.kind === 'call' && node.callee.kind === 'name' && node.callee.name === 'append'
}

function isDivision(operator: string): boolean {
  return operator === '/' || operator === '%'
}

function isZero(node: Expression): boolean {
  return node.kind === 'int' && node.value === 0
}
