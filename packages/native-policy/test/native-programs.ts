/** Returns random numbers below a bound; equal seeds give equal sequences. */
export interface Chance {
  below(bound: number): number
}

type Kind = 'bool' | 'int' | 'text' | 'list' | 'map' | 'any'

const NAMES = ['a', 'b', 'c', 'd'] as const
const LISTS = ['l', 'm'] as const
const MAPS = ['p', 'q'] as const
const FUNCTIONS = ['f', 'g'] as const
const RULES = ['r', 's'] as const

/** Generates a well-formed program whose types are mostly correct. */
export function makeProgram(chance: Chance): string {
  return new Writer(chance).program()
}

class Writer {
  readonly #chance: Chance
  #depth = 0
  /** Nesting of functions and loops. */
  #loops = 0
  #functions = 0

  constructor(chance: Chance) {
    this.#chance = chance
  }

  program(): string {
    const head = [
      ...NAMES.map((name) => `${name} = ${this.#literal('int')}`),
      ...LISTS.map((name) => `${name} = ${this.#literal('list')}`),
      ...MAPS.map((name) => `${name} = ${this.#literal('map')}`),
      ...FUNCTIONS.map((name) => `${name} = ${this.#function()}`),
      ...RULES.map((name) => `${name} = ${this.#rule()}`),
    ]
    const lines = this.#statements(1 + this.#below(6))
    const main = this.#below(2) === 0 ? this.#rule() : this.#expression(this.#kind())
    return [...head, ...lines, `main = ${main}`].join('\n')
  }

  #below(bound: number): number {
    return this.#chance.below(bound)
  }

  #pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.#below(items.length)] ?? items[0]
  }

  #kind(): Kind {
    return this.#pick(['bool', 'bool', 'int', 'text', 'list', 'map', 'any'])
  }

  #statements(count: number): readonly string[] {
    return Array.from({ length: count }, () => this.#statement())
  }

  #statement(): string {
    if (this.#depth > 3) return `a = ${this.#expression('int')}`
    this.#depth++
    const made = this.#anyStatement()
    this.#depth--
    return made
  }

  #anyStatement(): string {
    switch (this.#below(12)) {
      case 0:
      case 1:
        return `${this.#pick(NAMES)} ${this.#pick(['=', '=', '+=', '-=', '*='])} ${this.#expression('int')}`
      case 2:
        return `${this.#pick(LISTS)} ${this.#pick(['=', '+='])} ${this.#expression('list')}`
      case 3:
        return `${this.#pick(MAPS)}[${this.#expression('text')}] = ${this.#expression('any')}`
      case 4:
        return `append(${this.#pick(LISTS)}, ${this.#expression('any')})`
      case 5: {
        const otherwise = this.#below(2) === 0 ? '' : ` else {\n${this.#body()}\n}`
        return `if ${this.#condition()} {\n${this.#body()}\n}${otherwise}`
      }
      case 6:
        return this.#for()
      case 7:
        return this.#case()
      case 8:
        return `${this.#pick(['x', 'y'])} = ${this.#expression('any')}`
      case 9:
        return `delete(${this.#pick(MAPS)}, ${this.#expression('text')})`
      case 10:
        return this.#loops > 0
          ? this.#pick(['break', 'continue'])
          : `l[0] = ${this.#expression('any')}`
      default:
        return this.#functions > 0
          ? `return ${this.#expression('any')}`
          : `f(${this.#expression('any')})`
    }
  }

  #body(): string {
    return this.#statements(1 + this.#below(2)).join('\n')
  }

  #for(): string {
    const names = this.#pick(['x', 'i, x', '_, a'])
    const collection = this.#expression(this.#pick(['list', 'map']))
    this.#loops++
    const body = this.#body()
    this.#loops--
    return `for ${collection} as ${names} {\n${body}\n}`
  }

  #case(): string {
    const subject = this.#below(3) === 0 ? '' : `${this.#expression('int')} `
    const value = (): string => this.#expression(subject === '' ? 'bool' : 'int')
    const clauses = Array.from(
      { length: 1 + this.#below(2) },
      () => `when ${value()}, ${value()}:\n${this.#body()}`,
    )
    return `case ${subject}{\n${clauses.join('\n')}\nelse:\n${this.#body()}\n}`
  }

  #function(): string {
    if (this.#depth > 3) return 'func(z) { return z }'
    this.#depth++
    const loops = this.#loops
    this.#loops = 0
    this.#functions++
    const body = this.#statements(this.#below(3)).join('\n')
    const result = this.#expression('any')
    this.#functions--
    this.#loops = loops
    this.#depth--
    return `func(${this.#pick(['z', 'a', 'x'])}) {\n${body}\nreturn ${result}\n}`
  }

  #rule(): string {
    const when = this.#below(4) === 0 ? ` when ${this.#expression('bool')}` : ''
    return `rule${when} { ${this.#expression(this.#pick(['bool', 'bool', 'bool', 'list']))} }`
  }

  /** Undefined would abort the policy here, so most conditions are guarded. */
  #condition(): string {
    return this.#below(5) === 0
      ? this.#expression('bool')
      : `(${this.#expression('bool')}) else false`
  }

  #expression(wanted: Kind): string {
    const kind = this.#below(150) === 0 ? 'any' : wanted
    if (this.#depth > 3) return this.#leaf(kind)
    this.#depth++
    const made = this.#below(3) === 0 ? this.#leaf(kind) : this.#node(kind)
    this.#depth--
    return made
  }

  #leaf(kind: Kind): string {
    switch (kind) {
      case 'bool':
        return this.#pick(['true', 'false', 'r', 'true', 'false', 'undefined'])
      case 'int':
        return this.#below(30) === 0
          ? this.#pick(['1.0', '2.5', '9223372036854775807'])
          : this.#pick(['0', '1', '2', '-3', '7', 'a', 'b'])
      case 'text':
        return this.#pick(['""', '"a"', '"b"', '"ab"', '"k"'])
      case 'list':
        return this.#pick(['[]', 'l', 'm', '[1, 2]', '["a"]'])
      case 'map':
        return this.#pick(['{}', 'p', 'q', '{"a": 1}', '{"k": [1], 2: "b", true: null}'])
      case 'any':
        return this.#below(60) === 0
          ? this.#pick(['x', 'z', 'null'])
          : this.#pick(['undefined', 'c', 'd', 's', '"a"', '1', 'l', 'p', '1.5', 'true'])
    }
  }

  #literal(kind: 'int' | 'list' | 'map'): string {
    if (kind === 'int') return this.#pick(['0', '1', '5', '-2'])
    return kind === 'list'
      ? this.#pick(['[]', '[1, 2]', '[3, "a", [4]]'])
      : this.#pick(['{}', '{"a": 1, "k": [2]}', '{1: "b", true: 2.5}'])
  }

  #node(kind: Kind): string {
    const e = (inner: Kind): string => this.#expression(inner)
    switch (kind) {
      case 'bool':
        return this.#bool()
      case 'int':
        return this.#pick([
          () => `(${e('int')} ${this.#pick(['+', '-', '*'])} ${e('int')})`,
          () => `(${e('int')} ${this.#pick(['/', '%'])} ${this.#pick(['2', '-3', '7', '2.0'])})`,
          () => `-${e('int')}`,
          () => `length(${e(this.#pick(['text', 'list', 'map']))})`,
          () => `(int(${e('any')}) else 1)`,
          () => `(int(${e('list')}[${e('int')}]) else ${e('int')})`,
        ])()
      case 'text':
        return this.#pick([
          () => `(${e('text')} + ${e('text')})`,
          () => `(string(${e('any')}) else "")`,
          () => `(${e('text')}[${e('int')}:${e('int')}] else "")`,
        ])()
      case 'list':
        return this.#list()
      case 'map':
        return this.#pick([
          () => `{${e('text')}: ${e('any')}, ${e('int')}: ${e('any')}}`,
          () => `(filter ${e('map')} as k, v { ${e('bool')} })`,
          () => `({"k": ${e('map')}}[${e('text')}] else ${e('map')})`,
        ])()
      case 'any':
        return this.#pick([
          () => e(this.#kind()),
          () => `${e('map')}.a`,
          () => `${e('map')}[${e('text')}]`,
          () => `${e('list')}[${e('int')}]`,
          () => `(${e('any')} else ${e('any')})`,
          () => `${this.#pick(FUNCTIONS)}(${e('any')})`,
        ])()
    }
  }

  #bool(): string {
    const e = (inner: Kind): string => this.#expression(inner)
    return this.#pick([
      () => `(${e('bool')} ${this.#pick(['and', 'or', 'xor'])} ${e('bool')})`,
      () => `not ${e('bool')}`,
      () => `(${e('any')} ${this.#pick(['is', 'is not', '==', '!='])} ${e('any')})`,
      () => `(${e('int')} ${this.#pick(['<', '<=', '>', '>='])} ${e('int')})`,
      () => `(${e('text')} ${this.#pick(['<', '>='])} ${e('text')})`,
      () => `(${e('list')} ${this.#pick(['contains', 'not contains'])} ${e('any')})`,
      () => `(${e('text')} ${this.#pick(['in', 'not in'])} ${e(this.#pick(['map', 'text']))})`,
      () => `(${e('text')} ${this.#pick(['matches', 'not matches'])} "^a*b?$")`,
      () => `(${e(this.#pick(['list', 'map', 'text']))} is ${this.#pick(['empty', 'not empty'])})`,
      () => `(${e('any')} is ${this.#pick(['defined', 'not defined'])})`,
      () => `(${this.#pick(['any', 'all'])} ${e('list')} as x { ${e('bool')} })`,
      () => `(${this.#pick(['any', 'all'])} ${e('map')} as k, v { ${e('bool')} })`,
      () => `(${e('any')} is ${e('any')} else ${e('bool')})`,
      () => `({"k": ${e('bool')}}[${e('text')}] else ${e('bool')})`,
    ])()
  }

  #list(): string {
    const e = (inner: Kind): string => this.#expression(inner)
    return this.#pick([
      () => `[${e('any')}, ${e('any')}]`,
      () => `(${e('list')} + ${e('list')})`,
      () => `(filter ${e('list')} as i, x { ${e('bool')} })`,
      () => `(map ${e(this.#pick(['list', 'map']))} as x { ${e('any')} })`,
      () => `keys(${e('map')})`,
      () => `values(${e('map')})`,
      () => `(${e('list')}[${e('int')}:] else [])`,
    ])()
  }
}
