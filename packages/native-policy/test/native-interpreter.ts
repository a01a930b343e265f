import type { Expression, Statement, Tree } from '../src/syntax/ast.ts'
import {
  Failure,
  NOTHING,
  Flo,
  List,
  Dict,
  Lazy,
  fail,
  remove,
  force,
  isFun,
  isKey,
  keyText,
  sorted,
  elements,
  lengthOf,
  isEmpty,
  toText,
  toInt,
  numberOf,
  isNumber,
  unary,
  calculate,
  equal,
  compareOrCalculate,
  readIndex,
  writeIndex,
  slice,
  show,
  type Fun,
  type V,
} from './native-values.ts'

/**
 * A reference interpreter, written independently and deliberately simple: it walks the tree, looks
 * up names in maps and shares only the parser with the engine. Strings are ASCII. Both must return
 * the same result.
 */
export interface Interpretation {
  readonly result: 'pass' | 'fail' | 'undefined' | 'error' | 'too-long'
  readonly shown: string
}

const STEPS_MAX = 20_000
const DEPTH_MAX = 100

class TooLong extends Error {}

interface Env {
  readonly names: Map<string, V>
  readonly parent: Env | undefined
  readonly isFixed: boolean
}

type Ending = 'next' | 'break' | 'continue' | { readonly value: V }

export function interpret(tree: Tree): Interpretation {
  const machine = new Machine()
  try {
    return machine.run(tree)
  } catch (thrown) {
    if (thrown instanceof TooLong || thrown instanceof RangeError)
      return { result: 'too-long', shown: '' }
    if (thrown instanceof Failure) return { result: 'error', shown: thrown.message }
    throw thrown
  }
}

class Machine {
  #steps = 0
  #depth = 0

  run({ statements }: Tree): Interpretation {
    const universe: Env = { names: new Map(this.#builtins()), parent: undefined, isFixed: true }
    for (const [name, value] of CONSTANTS) universe.names.set(name, value)
    const file: Env = { names: new Map(), parent: universe, isFixed: false }
    this.#block(statements, file)
    const main = file.names.get('main')
    if (main === undefined) return fail('no main')
    return verdict(force(main))
  }

  #tick(): void {
    if (++this.#steps > STEPS_MAX) throw new TooLong()
  }

  #block(statements: readonly Statement[], env: Env): Ending {
    for (const statement of statements) {
      const ending = this.#statement(statement, env)
      if (ending !== 'next') return ending
    }
    return 'next'
  }

  #statement(statement: Statement, env: Env): Ending {
    this.#tick()
    switch (statement.kind) {
      case 'assign':
        this.#assign(statement, env)
        return 'next'
      case 'if': {
        const found = this.#value(statement.condition, env)
        if (typeof found !== 'boolean') return fail('condition')
        return this.#block(found ? statement.consequence : statement.otherwise, env)
      }
      case 'case': {
        const subject = statement.subject === undefined ? true : this.#value(statement.subject, env)
        for (const { values, body } of statement.clauses)
          for (const value of values)
            if (equal(subject, this.#value(value, env)) === true) return this.#block(body, env)
        return this.#block(statement.otherwise ?? [], env)
      }
      case 'for': {
        const found = this.#value(statement.collection, env)
        if (found === NOTHING) return fail('for of undefined')
        for (const [key, value, sole] of elements(found)) {
          const own = this.#loop(statement.variables, [key, value, sole], env)
          const ending = this.#block(statement.body, own)
          if (ending === 'break') break
          if (typeof ending === 'object') return ending
        }
        return 'next'
      }
      case 'named-function':
        env.names.set(statement.name.name, this.#value(statement.value, env))
        return 'next'
      case 'return':
        return { value: this.#value(statement.value, env) }
      case 'expression':
        this.#value(statement.value, env)
        return 'next'
      default:
        return statement.kind
    }
  }

  #loop(
    variables: { readonly key: { name: string } | undefined; readonly value: { name: string } },
    [key, value, sole]: readonly [V, V, V],
    parent: Env,
  ): Env {
    this.#tick()
    const names = new Map<string, V>()
    if (variables.key !== undefined) names.set(variables.key.name, key)
    names.set(variables.value.name, variables.key === undefined ? sole : value)
    return { names, parent, isFixed: false }
  }

  #assign(statement: Extract<Statement, { kind: 'assign' }>, env: Env): void {
    const { target, path, operator, value: node } = statement
    const holder = findWritable(env, target.name)
    if (path.length === 0) {
      if (operator === undefined) {
        const value = node.kind === 'rule' ? this.#rule(node, env) : this.#value(node, env)
        const now = findWritable(env, target.name) ?? env
        return void now.names.set(target.name, value)
      }
      const old = this.#read(target.name, env)
      const right = this.#value(node, env)
      const where = findWritable(env, target.name) ?? holder ?? env
      if (operator === '+' && old instanceof List && right instanceof List)
        return void old.items.push(...right.items)
      return void where.names.set(target.name, calculate(operator, old, right))
    }
    const right = this.#value(node, env)
    let container = this.#read(target.name, env)
    const indexes = path.map((index) => index)
    const last = indexes.pop()
    for (const index of indexes) container = readIndex(container, this.#value(index, env))
    if (last === undefined) return
    const index = this.#value(last, env)
    const made =
      operator === undefined ? right : calculate(operator, readIndex(container, index), right)
    writeIndex(container, index, made)
  }

  #rule(node: Extract<Expression, { kind: 'rule' }>, env: Env): Lazy {
    return new Lazy(() => {
      this.#tick()
      if (node.when !== undefined) {
        const when = this.#value(node.when, env)
        if (when === NOTHING) return NOTHING
        if (typeof when !== 'boolean') return fail('when')
        if (!when) return true
      }
      const value = this.#value(node.body, env)
      if (value === null || isFun(value)) return fail('a rule cannot be this')
      return value
    })
  }

  #read(name: string, env: Env): V {
    for (let at: Env | undefined = env; at !== undefined; at = at.parent) {
      const value = at.names.get(name)
      if (value !== undefined) return force(value)
    }
    return fail(`no ${name}`)
  }

  #value(node: Expression, env: Env): V {
    this.#tick()
    switch (node.kind) {
      case 'int':
        return BigInt(node.value)
      case 'float':
        return new Flo(node.value)
      case 'string':
        return node.value
      case 'name':
        return this.#read(node.name, env)
      case 'list':
        return new List(node.items.map((item) => this.#value(item, env)))
      case 'map':
        return this.#map(node, env)
      case 'function':
        return this.#function(node, env)
      case 'rule':
        return force(this.#rule(node, env))
      case 'quantifier':
        return this.#quantifier(node, env)
      case 'unary':
        return unary(node.operator, this.#value(node.operand, env))
      case 'binary':
        return this.#binary(node, env)
      case 'state': {
        const value = this.#value(node.operand, env)
        const found = node.test === 'defined' ? value !== NOTHING : isEmpty(value)
        return found === NOTHING ? found : found !== node.isNegated
      }
      case 'select':
        return readIndex(this.#value(node.operand, env), node.name)
      case 'index':
        return readIndex(this.#value(node.operand, env), this.#value(node.index, env))
      case 'slice':
        return slice(
          this.#value(node.operand, env),
          node.from === undefined ? undefined : this.#value(node.from, env),
          node.to === undefined ? undefined : this.#value(node.to, env),
        )
      case 'call': {
        const callee = this.#value(node.callee, env)
        const args = node.args.map((arg) => this.#value(arg, env))
        if (callee === NOTHING) return NOTHING
        if (!isFun(callee)) return fail('no function')
        const [fewest, most] = callee.arity
        if (args.length < fewest || args.length > most) return fail('arity')
        return callee.call(args)
      }
    }
  }

  #map(node: Extract<Expression, { kind: 'map' }>, env: Env): V {
    const dict = new Dict()
    for (const { key, value } of node.entries) {
      const made = this.#value(key, env)
      if (!isKey(made)) return fail('key')
      dict.entries.set(keyText(made), { key: made, value: this.#value(value, env) })
    }
    return dict
  }

  #function(node: Extract<Expression, { kind: 'function' }>, env: Env): Fun {
    const count = node.parameters.length
    const call = (args: V[]): V => {
      this.#tick()
      if (++this.#depth > DEPTH_MAX) throw new TooLong()
      const names = new Map<string, V>(
        node.parameters.map(({ name }, index) => [name, args[index] ?? null]),
      )
      const ending = this.#block(node.body, { names, parent: env, isFixed: false })
      this.#depth--
      return typeof ending === 'object' ? ending.value : fail('no return')
    }
    return { arity: [count, count], call }
  }

  #quantifier(node: Extract<Expression, { kind: 'quantifier' }>, env: Env): V {
    const collection = this.#value(node.collection, env)
    if (collection === NOTHING) return NOTHING
    const found = elements(collection)
    const judge = (element: readonly [V, V, V]): V =>
      this.#value(node.body, this.#loop(node.variables, element, env))
    if (node.quantifier === 'map') return new List(found.map(judge))
    const kept: (readonly [V, V, V])[] = []
    let answer: V = node.quantifier === 'all'
    for (const element of found) {
      const judged = judge(element)
      if (judged !== NOTHING && typeof judged !== 'boolean') return fail('bool')
      if (node.quantifier === 'filter') {
        if (judged === NOTHING) return NOTHING
        if (judged) kept.push(element)
      } else if (node.quantifier === 'all') {
        if (judged !== true) return judged
      } else {
        if (judged === true) return true
        if (judged === NOTHING) answer = NOTHING
      }
    }
    if (node.quantifier !== 'filter') return answer
    if (collection instanceof List) return new List(kept.map(([, value]) => value))
    const dict = new Dict()
    for (const [key, value] of kept) if (isKey(key)) dict.entries.set(keyText(key), { key, value })
    return dict
  }

  #binary(node: Extract<Expression, { kind: 'binary' }>, env: Env): V {
    const { operator } = node
    const left = this.#value(node.left, env)
    if (operator === 'else') return left === NOTHING ? this.#value(node.right, env) : left
    if (operator === 'and' || operator === 'or' || operator === 'xor') {
      if (left !== NOTHING && typeof left !== 'boolean') return fail('bool')
      if (operator === 'and' && (left === false || left === NOTHING)) return left
      if (operator === 'or' && left === true) return true
      if (operator === 'xor' && left === NOTHING) return left
      const right = this.#value(node.right, env)
      if (right !== NOTHING && typeof right !== 'boolean') return fail('bool')
      if (operator === 'or') return right === true ? true : left === NOTHING ? NOTHING : right
      return operator === 'and' || right === NOTHING ? right : left !== right
    }
    return compareOrCalculate(operator, left, this.#value(node.right, env))
  }

  *#builtins(): Iterable<readonly [string, V]> {
    const make = (fewest: number, most: number, call: (args: V[]) => V): Fun => ({
      arity: [fewest, most],
      call: (args) => {
        this.#tick()
        return call(args)
      },
    })
    yield [
      'append',
      make(2, 2, ([list, item = null]) =>
        list instanceof List ? (list.items.push(item), NOTHING) : fail('append'),
      ),
    ]
    yield ['delete', make(2, 2, ([map = null, key = null]) => remove(map, key))]
    yield [
      'keys',
      make(1, 1, ([map]) =>
        map === NOTHING
          ? NOTHING
          : map instanceof Dict
            ? new List(sorted(map).map(({ key }) => key))
            : fail('keys'),
      ),
    ]
    yield [
      'values',
      make(1, 1, ([map]) =>
        map === NOTHING
          ? NOTHING
          : map instanceof Dict
            ? new List(sorted(map).map(({ value }) => value))
            : fail('values'),
      ),
    ]
    yield [
      'length',
      make(1, 1, ([value = null]) => (value === NOTHING ? NOTHING : lengthOf(value))),
    ]
    yield ['string', make(1, 1, ([value = null]) => toText(value))]
    yield ['int', make(1, 1, ([value = null]) => toInt(value))]
    yield ['print', make(0, 99, () => true)]
    yield ['error', make(0, 99, () => fail('error'))]
  }
}

const CONSTANTS: readonly (readonly [string, V])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['undefined', NOTHING],
]

function findWritable(env: Env, name: string): Env | undefined {
  for (let at: Env | undefined = env; at !== undefined; at = at.parent)
    if (!at.isFixed && at.names.has(name)) return at
  return undefined
}

function verdict(value: V): Interpretation {
  if (value === NOTHING) return { result: 'undefined', shown: '' }
  if (value === null || isFun(value)) return fail('main')
  const shown = show(value)
  if (typeof value === 'boolean') return { result: value ? 'pass' : 'fail', shown }
  const isNone = isNumber(value) ? numberOf(value) === 0 : lengthOf(value) === 0n
  return { result: isNone ? 'pass' : 'fail', shown }
}
