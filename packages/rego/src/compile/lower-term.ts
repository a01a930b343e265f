import { EMPTY_OBJECT } from '../value/value.ts'
import type {
  CallTerm,
  ComprehensionTerm,
  Literal,
  RefTerm,
  TemplateTerm,
  Term,
} from '../syntax/ast.ts'
import { isPattern } from './bindings.ts'
import { checkOperands } from './checks.ts'
import type {
  Call,
  Callee,
  Comprehension,
  Expression,
  Goal,
  Reference,
  Replacement,
  TreeNode,
  VirtualDocument,
} from './ir.ts'
import { documentsUnder, findNode } from './rule-tree.ts'
import {
  findGlobal,
  findLocal,
  makeScope,
  makeVariable,
  resolve,
  type Lowering,
  type Scope,
} from './scope.ts'
import { throwCompileError } from './unit.ts'

/** Collects the goals that have to be evaluated before a term. */
export interface GoalBuilder {
  readonly lowering: Lowering
  readonly scope: Scope
  readonly goals: Goal[]
  /** Replacements that hold for those goals too. */
  readonly with: readonly Replacement[]
  /** Inside `not`: every nested reference and call is evaluated before, so outside of it. */
  readonly hoistsAll: boolean
  /** Terms hold bodies: this is the way back from the first to the second. */
  readonly lowerBody: (sink: GoalBuilder, body: readonly Literal[]) => void
}

/** A sink for a body inside a term: own names, own goals. */
export function nestedBuilder(sink: GoalBuilder): GoalBuilder {
  return { ...sink, scope: makeScope(sink.scope), goals: [], with: [], hoistsAll: false }
}

/** A term in a place where it has one value; what may have several becomes a goal before it. */
export function lowerTerm(sink: GoalBuilder, term: Term): Expression {
  const expression = lowerRootTerm(sink, term)
  const isHoisted =
    expression.type === 'reference'
      ? sink.hoistsAll || isGenerator(expression)
      : expression.type === 'call' && (sink.hoistsAll || isRelation(expression))
  return isHoisted ? hoist(sink, expression) : expression
}

export function isGenerator(reference: Reference): boolean {
  return reference.path.some(isPattern)
}

function isRelation(expression: Expression): boolean {
  return (
    expression.type === 'call' &&
    expression.callee.type === 'builtin' &&
    expression.callee.builtin.isRelation
  )
}

/** A fresh variable that a goal before gives the value of the expression. */
export function hoist(sink: GoalBuilder, expression: Expression): Expression {
  const { at } = expression
  const variable = makeVariable(sink.lowering, { name: '_$', at, isAssigned: false })
  const temporary: Expression = { type: 'var', variable, at }
  sink.goals.push(
    isRelation(expression)
      ? {
          type: 'iterate',
          key: undefined,
          value: temporary,
          domain: expression,
          at,
          with: sink.with,
        }
      : { type: 'unify', left: temporary, right: expression, declares: false, at, with: sink.with },
  )
  return temporary
}

/** A term that a goal evaluates by itself: a reference may stay one, however many values it has. */
export function lowerRootTerm(sink: GoalBuilder, term: Term): Expression {
  switch (term.type) {
    case 'scalar':
      return { type: 'constant', value: term.value, at: term.at }
    case 'var':
      return checkRead(sink, resolve(sink.lowering, sink.scope, term))
    case 'ref':
      return lowerReference(sink, term)
    case 'call':
      return lowerCall(sink, term)
    case 'array':
    case 'set': {
      const items = term.items.map((item) => lowerTerm(sink, item))
      return { type: term.type, items, at: term.at }
    }
    case 'object': {
      if (term.entries.length === 0) return { type: 'constant', value: EMPTY_OBJECT, at: term.at }
      const entries = term.entries.map(
        ([key, value]) => [lowerTerm(sink, key), lowerTerm(sink, value)] as const,
      )
      return { type: 'object', entries, at: term.at }
    }
    case 'comprehension':
      return lowerComprehension(sink, term)
    case 'template':
      return lowerTemplate(sink, term)
  }
}

function lowerReference(sink: GoalBuilder, term: RefTerm): Expression {
  const { at } = term
  const head =
    term.head.type === 'var'
      ? resolve(sink.lowering, sink.scope, term.head)
      : lowerTerm(sink, term.head)
  const path = term.path.map((item) => lowerTerm(sink, item))
  const reference: Reference =
    head.type === 'reference' && term.head.type === 'var'
      ? { type: 'reference', root: head.root, path: [...head.path, ...path], at }
      : { type: 'reference', root: head, path, at }
  return checkRead(sink, reference)
}

/** Notes which rules a reference may read. */
function checkRead(sink: GoalBuilder, expression: Expression): Expression {
  const { ir, compilation, unit } = sink.lowering
  if (expression.type !== 'reference' || expression.root !== 'data' || ir === undefined)
    return expression
  let nodes: readonly TreeNode[] = [compilation.root]
  for (const item of expression.path)
    nodes = nodes.flatMap((node) => (isDocument(node) ? [node] : nextNodes(node, item)))
  for (const node of nodes)
    for (const group of isDocument(node) ? [node.group] : documentsUnder(node))
      if (group !== undefined) ir.group.reads.set(group, { source: unit.source, at: expression.at })
  return expression
}

/** Where a part of a path may lead; a computed one, everywhere. */
function nextNodes(node: TreeNode, item: Expression): readonly TreeNode[] {
  if (item.type !== 'constant') return [...node.children.values()]
  const child = typeof item.value === 'string' ? node.children.get(item.value) : undefined
  return child === undefined ? [] : [child]
}

function isDocument(node: TreeNode): boolean {
  return node.group !== undefined && node.group.kind !== 'function'
}

function lowerCall(sink: GoalBuilder, term: CallTerm): Expression {
  const metadata = lowerMetadata(sink, term)
  if (metadata !== undefined) return metadata
  const { name, callee, arity } = lowerCallee(sink.lowering, sink.scope, term)
  if (term.operands.length !== arity)
    throwCompileError(
      { source: sink.lowering.unit.source, at: term.at, code: 'rego_type_error' },
      `${name}: arity mismatch, have ${term.operands.length} operands, want ${arity}`,
    )
  const operands = term.operands.map((operand) => lowerTerm(sink, operand))
  const call: Call = { type: 'call', name, callee, operands, at: term.at }
  checkOperands(call, { source: sink.lowering.unit.source, at: term.at })
  return call
}

/** `rego.metadata.rule()` and `.chain()` are known when the rule is compiled. */
function lowerMetadata(sink: GoalBuilder, term: CallTerm): Expression | undefined {
  const { lowering } = sink
  if (term.name[0] !== 'rego' || term.name[1] !== 'metadata' || term.operands.length > 0)
    return undefined
  if (findLocal(sink.scope, 'rego') !== undefined || findGlobal(lowering, 'rego') !== undefined)
    return undefined
  const { rule, chain } = lowering.compilation.metadata(lowering.unit, lowering.ir?.rule)
  if (term.name[2] === 'rule') return { type: 'constant', value: rule, at: term.at }
  return term.name[2] === 'chain' ? { type: 'constant', value: chain, at: term.at } : undefined
}

function lowerComprehension(sink: GoalBuilder, term: ComprehensionTerm): Comprehension {
  const inner = nestedBuilder(sink)
  inner.lowerBody(inner, term.body)
  const key = term.key === undefined ? undefined : lowerTerm(inner, term.key)
  const head = lowerTerm(inner, term.head)
  return { type: 'comprehension', makes: term.makes, key, head, body: inner.goals, at: term.at }
}

function lowerTemplate(sink: GoalBuilder, term: TemplateTerm): Expression {
  const parts = term.parts.map((part) => {
    if (typeof part === 'string') return part
    return lowerValues(sink, {
      type: 'expression',
      at: part.term.at,
      term: part.term,
      with: part.with,
    })
  })
  return { type: 'template', parts, at: term.at }
}

/** All values of an expression, as an array: none when it is undefined. */
export function lowerValues(
  sink: GoalBuilder,
  literal: Literal & { type: 'expression' },
): Comprehension {
  const inner = nestedBuilder(sink)
  const { at } = literal
  const variable = makeVariable(sink.lowering, { name: '_$', at, isAssigned: false })
  const name = `_$value${variable.slot}`
  inner.scope.names.set(name, variable)
  const left: Term = { type: 'var', name, at }
  inner.lowerBody(inner, [
    { type: 'unify', declares: false, left, right: literal.term, at, with: literal.with },
  ])
  const head: Expression = { type: 'var', variable, at }
  return { type: 'comprehension', makes: 'array', key: undefined, head, body: inner.goals, at }
}

export interface FoundCallee {
  readonly name: string
  readonly callee: Callee
  readonly arity: number
}

export function lowerCallee(lowering: Lowering, scope: Scope, term: CallTerm): FoundCallee {
  const found = findCallee(lowering, scope, term.name)
  if (found !== undefined) {
    if (found.callee.type === 'function' && lowering.ir !== undefined)
      lowering.ir.group.reads.set(found.callee.group, { source: lowering.unit.source, at: term.at })
    return found
  }
  return throwCompileError(
    { source: lowering.unit.source, at: term.at, code: 'rego_type_error' },
    `undefined function ${(absolute(lowering, term.name) ?? term.name).join('.')}`,
  )
}

/** The function or builtin of a name, if it is one. */
export function findCallee(
  lowering: Lowering,
  scope: Scope,
  name: readonly string[],
): FoundCallee | undefined {
  const [first = ''] = name
  if (findLocal(scope, first) !== undefined) return undefined
  const path = absolute(lowering, name)
  if (path === undefined) return findBuiltin(lowering, name.join('.'))
  if (path[0] !== 'data') return undefined
  const group = findNode(lowering.compilation.root, path.slice(1))?.group
  if (group === undefined || !isCallable(group)) return undefined
  return { name: group.name, callee: { type: 'function', group }, arity: group.arity }
}

function isCallable(group: VirtualDocument): boolean {
  if (group.kind === 'function') return true
  return group.kind === 'complete' && group.rules.some(({ rule }) => rule.parameters !== undefined)
}

function absolute(lowering: Lowering, name: readonly string[]): readonly string[] | undefined {
  const [first = '', ...rest] = name
  const global = findGlobal(lowering, first)
  return global === undefined ? undefined : [...global, ...rest]
}

function findBuiltin(lowering: Lowering, name: string): FoundCallee | undefined {
  const builtin = lowering.compilation.builtins.get(name)
  if (builtin === undefined) return undefined
  if (builtin.isDeprecated && lowering.unit.version === 1) return undefined
  return { name, callee: { type: 'builtin', builtin }, arity: builtin.operands.length }
}

/** `a.b.c` as segments when all of it is constant. */
export function nameSegments(term: Term): readonly string[] | undefined {
  if (term.type === 'var') return [term.name]
  if (term.type !== 'ref' || term.head.type !== 'var') return undefined
  const segments = [term.head.name]
  for (const item of term.path) {
    if (item.type !== 'scalar' || typeof item.value !== 'string') return undefined
    segments.push(item.value)
  }
  return segments
}
