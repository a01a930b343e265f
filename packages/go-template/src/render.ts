import { ByteBudget, tooLong } from './budget.ts'
import type { TemplateFunctions } from './function-table.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { TemplateError, fail } from './template-error.ts'
import type { BranchNode, Command, Node, Operand, Pipeline, TemplateTree } from './tree.ts'
import {
  isList,
  isMap,
  isTrue,
  printValue,
  sortedEntries,
  StructValue,
  typeNameOf,
  type Value,
} from './value.ts'

interface RenderOptions {
  readonly data: Value
  readonly functions: TemplateFunctions
  /** If true, a missing map key is an error instead of `<no value>`. */
  readonly failsOnMissingKey?: boolean
  /** Budget of the rendering, which the caller may read afterwards; a new one by default. */
  readonly budget?: ByteBudget
  /** Called for each step; an exception aborts the rendering. */
  readonly onStep?: () => void
}

/** Renders a template. Throws a TemplateError with the line. Limited in steps and bytes. */
export function renderTemplate(tree: TemplateTree, options: RenderOptions): string {
  const renderer = new Renderer(tree, options)
  renderer.nodes(tree.root, options.data)
  return renderer.output
}

/** How control leaves a list of nodes. */
type Flow = 'on' | 'break' | 'continue'

interface Variable {
  readonly name: string
  value: Value
}

class Renderer {
  readonly #tree: TemplateTree
  readonly #options: RenderOptions
  readonly #budget: ByteBudget
  readonly #parts: string[] = []
  #variables: Variable[]
  #chars = 0
  #steps = 0
  #depth = 0

  constructor(tree: TemplateTree, options: RenderOptions) {
    this.#tree = tree
    this.#options = options
    this.#budget = options.budget ?? new ByteBudget()
    this.#variables = [{ name: '$', value: options.data }]
  }

  get output(): string {
    return this.#parts.join('')
  }

  nodes(nodes: readonly Node[], dot: Value): Flow {
    const visible = this.#variables.length
    for (const node of nodes) {
      const flow = this.#node(node, dot)
      if (flow !== 'on') {
        this.#variables.length = visible
        return flow
      }
    }
    this.#variables.length = visible
    return 'on'
  }

  #node(node: Node, dot: Value): Flow {
    this.#step()
    switch (node.kind) {
      case 'text':
        this.#write(node.text)
        return 'on'
      case 'break':
      case 'continue':
        return node.kind
      default:
        return this.#atLine(node.line, () => this.#active(node, dot))
    }
  }

  #active(node: Exclude<Node, { kind: 'text' | 'break' | 'continue' }>, dot: Value): Flow {
    switch (node.kind) {
      case 'action': {
        const value = this.#pipe(node.pipe, dot)
        if (node.pipe.variables.length === 0) this.#write(this.#print(value))
        return 'on'
      }
      case 'template':
        this.#call(node.name, node.pipe === undefined ? undefined : this.#pipe(node.pipe, dot))
        return 'on'
      case 'range':
        return this.#scoped(() => this.#range(node, dot))
      case 'if':
      case 'with':
        return this.#scoped(() => {
          const value = this.#pipe(node.pipe, dot)
          if (!isTrue(value)) return this.nodes(node.otherwise, dot)
          return this.nodes(node.body, node.kind === 'with' ? value : dot)
        })
    }
  }

  #atLine<T>(line: number, work: () => T): T {
    try {
      return work()
    } catch (thrown) {
      if (!(thrown instanceof TemplateError) || thrown.message.startsWith('line ')) throw thrown
      throw new TemplateError(`line ${line}: ${thrown.message}`)
    }
  }

  #scoped(work: () => Flow): Flow {
    const visible = this.#variables.length
    const flow = work()
    this.#variables.length = visible
    return flow
  }

  #call(name: string, data: Value): void {
    const body = this.#tree.defined.get(name)
    if (body === undefined) return fail(`template ${JSON.stringify(name)} not defined`)
    this.#depth += 1
    if (this.#depth > TEMPLATE_LIMITS.depthMax) fail('templates call each other too deeply')
    const outer = this.#variables
    this.#variables = [{ name: '$', value: data }]
    this.nodes(body, data)
    this.#variables = outer
    this.#depth -= 1
  }

  #range({ pipe, body, otherwise }: BranchNode, dot: Value): Flow {
    const value = this.#pipe({ ...pipe, variables: [] }, dot)
    let count = 0
    // Charged before the loop starts, because it sorts all keys of a map.
    if (isMap(value)) this.#budget.chargeShallow(value)
    for (const [key, item] of entriesOf(value)) {
      count += 1
      this.#step()
      const visible = this.#variables.length
      this.#bindRange(pipe, key, item)
      const flow = this.nodes(body, item)
      this.#variables.length = visible
      if (flow === 'break') break
    }
    return count === 0 ? this.nodes(otherwise, dot) : 'on'
  }

  #bindRange({ variables, isAssignment }: Pipeline, key: Value, item: Value): void {
    const [first, second] = variables
    if (first === undefined) return
    if (second === undefined) this.#bind(first, item, isAssignment)
    else {
      this.#bind(first, key, isAssignment)
      this.#bind(second, item, isAssignment)
    }
  }

  #bind(name: string, value: Value, isAssignment: boolean): void {
    if (!isAssignment) this.#variables.push({ name, value })
    else this.#variable(name).value = value
  }

  #variable(name: string): Variable {
    const found = this.#variables.findLast((variable) => variable.name === name)
    return found ?? fail(`undefined variable: ${name}`)
  }

  #pipe({ commands, variables, isAssignment }: Pipeline, dot: Value): Value {
    let value: Value
    for (const [index, command] of commands.entries()) {
      value = this.#command(command, dot, index === 0 ? [] : [value])
    }
    for (const name of variables) this.#bind(name, value, isAssignment)
    return value
  }

  #command(command: Command, dot: Value, last: readonly Value[]): Value {
    this.#step()
    const [head, ...rest] = command
    if (head === undefined) return fail('missing value for command')
    if (head.kind !== 'function') {
      if (rest.length + last.length > 0) fail("can't give argument to non-function")
      return this.#operand(head, dot)
    }
    const shortCut = SHORT_CUTS.get(head.name)
    if (shortCut !== undefined) return this.#firstThat(shortCut, [...rest], { dot, last })
    const args = rest.map((operand) => this.#operand(operand, dot))
    return this.#apply(head.name, [...args, ...last])
  }

  /** Evaluates `and` and `or`, which stop at the first argument that decides. */
  #firstThat(
    wanted: boolean,
    operands: readonly Operand[],
    { dot, last }: { readonly dot: Value; readonly last: readonly Value[] },
  ): Value {
    if (operands.length + last.length === 0) fail('wrong number of args: want at least 1')
    let value: Value
    for (const operand of operands) {
      value = this.#operand(operand, dot)
      if (isTrue(value) === wanted) return value
    }
    return last.length > 0 ? last[0] : value
  }

  #apply(name: string, args: readonly Value[]): Value {
    const called = this.#options.functions.get(name)
    if (called === undefined) return fail(`function ${JSON.stringify(name)} not defined`)
    try {
      called.cost(args, this.#budget)
      const result = called.call(...args)
      if (typeof result === 'string') tooLong(result.length)
      this.#budget.chargeShallow(result)
      return result
    } catch (thrown) {
      // The runtime throws a RangeError for strings and numbers beyond its own limits.
      if (!(thrown instanceof TemplateError || thrown instanceof RangeError)) throw thrown
      throw new TemplateError(`error calling ${name}: ${thrown.message}`)
    }
  }

  #print(value: Value): string {
    if (typeof value === 'string') return value
    this.#budget.chargeDeep(value)
    return printValue(value)
  }

  #operand(operand: Operand, dot: Value): Value {
    this.#step()
    switch (operand.kind) {
      case 'dot':
        return dot
      case 'literal':
        return operand.value
      case 'field':
        return this.#fields(dot, operand.names)
      case 'variable':
        return this.#fields(this.#variable(operand.name).value, operand.names)
      case 'function':
        return this.#apply(operand.name, [])
      case 'pipe':
        return this.#fields(this.#scopedPipe(operand.pipe, dot), operand.names)
    }
  }

  #scopedPipe(pipe: Pipeline, dot: Value): Value {
    this.#depth += 1
    if (this.#depth > TEMPLATE_LIMITS.depthMax) fail('expressions are nested too deeply')
    const value = this.#pipe(pipe, dot)
    this.#depth -= 1
    return value
  }

  #fields(start: Value, names: readonly string[]): Value {
    let value = start
    for (const name of names) value = this.#field(value, name)
    return value
  }

  #field(value: Value, name: string): Value {
    if (isMap(value)) {
      const found = value.get(name)
      if (found === undefined && this.#options.failsOnMissingKey === true) {
        fail(`map has no entry for key ${JSON.stringify(name)}`)
      }
      return found
    }
    if (value instanceof StructValue && value.fields.has(name)) return value.fields.get(name)
    if (value === undefined) {
      if (this.#options.failsOnMissingKey === true) {
        fail(`nil data; no entry for key ${JSON.stringify(name)}`)
      }
      return undefined
    }
    if (value === null) return fail(`nil pointer evaluating interface {}.${name}`)
    return fail(`can't evaluate field ${name} in type ${typeNameOf(value)}`)
  }

  #write(text: string): void {
    this.#chars += text.length
    tooLong(this.#chars)
    this.#budget.charge(text.length)
    this.#parts.push(text)
  }

  #step(): void {
    this.#steps += 1
    this.#options.onStep?.()
    if (this.#steps > TEMPLATE_LIMITS.stepsMax) fail('the template takes too many steps')
  }
}

/** Truth value at which `and` and `or` return the argument. */
const SHORT_CUTS: ReadonlyMap<string, boolean> = new Map([
  ['or', true],
  ['and', false],
])

/** Yields keys and values: list indexes from zero, map keys in order. */
function* entriesOf(value: Value): Generator<readonly [Value, Value]> {
  if (value === undefined || value === null) return
  if (isList(value)) {
    for (const [index, item] of value.entries()) yield [BigInt(index), item]
  } else if (isMap(value)) {
    yield* sortedEntries(value)
  } else if (typeof value === 'bigint') {
    for (let n = 0n; n < value; n += 1n) yield [n, n]
  } else {
    fail(`range can't iterate over ${printValue(value)}`)
  }
}
