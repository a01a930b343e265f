import type { Span } from '../text/source.ts'
import type { NumberValue } from '@reeve/kit/number.ts'
import type { Expression, ForBinding, Step, TemplatePart } from './ast.ts'

/** A reference to a variable, with the steps that are known without evaluation. */
export interface Reference {
  readonly root: string
  readonly path: readonly (string | NumberValue)[]
  readonly span: Span
}

/**
 * Finds all references in an expression, except to names bound by its own `for`. Uses a work list
 * instead of recursion, because chains of binary operators are unbounded.
 */
export function findReferences(expression: Expression): readonly Reference[] {
  const references: Reference[] = []
  const work: Visit[] = [{ node: expression, bound: NONE }]
  for (let visit = work.pop(); visit !== undefined; visit = work.pop()) {
    const { node, bound } = visit
    const reference = asReference(node)
    if (reference !== undefined && !bound.has(reference.root)) references.push(reference)
    for (const next of childrenOf(node, bound)) work.push(next)
  }
  return references.toSorted((a, b) => a.span.start - b.span.start)
}

interface Visit {
  readonly node: Expression | TemplatePart
  readonly bound: ReadonlySet<string>
}

const NONE: ReadonlySet<string> = new Set()

/**
 * `var.a[0]` as root and path; undefined for other expressions. The path ends at the first computed
 * step.
 */
function asReference(node: Expression | TemplatePart): Reference | undefined {
  if (node.kind === 'variable') return { root: node.name, path: [], span: node.span }
  if (node.kind !== 'access' || node.base.kind !== 'variable') return undefined
  const path: (string | NumberValue)[] = []
  for (const step of node.steps) {
    const key = staticKey(step)
    if (key === undefined) break
    path.push(key)
  }
  return { root: node.base.name, path, span: node.span }
}

function staticKey(step: Step): string | NumberValue | undefined {
  if (step.kind === 'attribute') return step.name
  if (step.kind !== 'index' || step.key.kind !== 'literal') return undefined
  const { value } = step.key
  return value === null || typeof value === 'boolean' ? undefined : value
}

/** The expression as a reference with only static steps; otherwise undefined. */
export function asTraversal(expression: Expression): Reference | undefined {
  const reference = asReference(expression)
  if (reference === undefined) return undefined
  const stepCount = expression.kind === 'access' ? expression.steps.length : 0
  return reference.path.length === stepCount ? reference : undefined
}

const WORD = /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u

/**
 * The expression as a keyword, such as the name after `iterator =`. JSON has no bare words, so it
 * uses a string.
 */
export function asKeyword(expression: Expression): string | undefined {
  if (expression.kind === 'variable') return expression.name
  if (expression.kind !== 'literal' || typeof expression.value !== 'string') return undefined
  return WORD.test(expression.value) ? expression.value : undefined
}

function childrenOf(node: Expression | TemplatePart, bound: ReadonlySet<string>): readonly Visit[] {
  const visits = (nodes: readonly (Expression | TemplatePart)[], names = bound): readonly Visit[] =>
    nodes.map((one) => ({ node: one, bound: names }))
  switch (node.kind) {
    case 'literal':
    case 'variable':
    case 'text':
      return []
    case 'template':
      return visits(node.parts)
    case 'interpolation':
      return visits([node.expression])
    case 'if':
      return visits([node.condition, ...node.whenTrue, ...node.whenFalse])
    case 'access':
      // The root was visited together with its steps.
      return visits([
        ...(node.base.kind === 'variable' ? [] : [node.base]),
        ...node.steps.flatMap(keysOf),
      ])
    case 'call':
      return visits(node.arguments)
    case 'unary':
      return visits([node.operand])
    case 'binary':
      return visits([node.left, node.right])
    case 'conditional':
      return visits([node.condition, node.whenTrue, node.whenFalse])
    case 'parentheses':
      return visits([node.inner])
    case 'tuple':
      return visits(node.elements)
    case 'object':
      return visits(node.items.flatMap((item) => [item.key, item.value]))
    case 'for':
      return [
        ...visits([node.binding.collection]),
        ...visits(loopParts(node), withBinding(bound, node.binding)),
      ]
  }
}

function keysOf(step: Step): readonly Expression[] {
  if (step.kind === 'index') return [step.key]
  return step.kind === 'splat' ? step.each.flatMap(keysOf) : []
}

type Loop = Extract<Expression | TemplatePart, { kind: 'for' }>

function loopParts(loop: Loop): readonly (Expression | TemplatePart)[] {
  if ('body' in loop) return loop.body
  return [loop.key, loop.value, loop.condition].filter((one) => one !== undefined)
}

function withBinding(bound: ReadonlySet<string>, binding: ForBinding): ReadonlySet<string> {
  const names = new Set(bound).add(binding.valueName)
  return binding.keyName === undefined ? names : names.add(binding.keyName)
}
