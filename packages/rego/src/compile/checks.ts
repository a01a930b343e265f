import type { OperandType } from '../builtins/builtin.ts'
import { kindOf, type Kind } from '../value/value.ts'
import type { Call, Expression, RuleIR, SourceLocation, TreeNode, VirtualDocument } from './ir.ts'
import { documentsUnder, groundPrefix } from './rule-tree.ts'
import { throwCompileError, type ErrorSite, type Compilation } from './unit.ts'

/**
 * Refuses calls of builtins with operands that can never fit, such as `1 + "a"`. Types of documents
 * and variables are not inferred: those calls fail when they are made.
 */
export function checkOperands(call: Call, trouble: ErrorSite): void {
  if (call.callee.type !== 'builtin') return
  const { builtin } = call.callee
  // The builtins of version 0 take anything and fail when they are called.
  if (builtin.isDeprecated) return
  for (const [at, operand] of call.operands.entries()) {
    const wanted = builtin.operands[at]
    const kind = staticKind(operand)
    if (wanted === undefined || kind === undefined || fits(kind, wanted)) continue
    throwCompileError(
      { ...trouble, code: 'rego_type_error' },
      `${call.name}: invalid argument(s): operand ${at + 1} is ${kind}`,
    )
  }
}

function fits(kind: Kind, wanted: OperandType): boolean {
  if (wanted === 'any') return true
  return typeof wanted === 'string' ? wanted === kind : wanted.includes(kind)
}

/** The kind of every value the expression may have; nothing when that is not plain to see. */
function staticKind(expression: Expression): Kind | undefined {
  switch (expression.type) {
    case 'constant':
      return kindOf(expression.value)
    case 'array':
    case 'set':
    case 'object':
      return expression.type
    case 'comprehension':
      return expression.makes
    case 'template':
      return 'string'
    case 'call': {
      if (expression.callee.type !== 'builtin') return undefined
      const { result, isRelation } = expression.callee.builtin
      return isRelation || typeof result !== 'string' || result === 'any' ? undefined : result
    }
    case 'var':
    case 'reference':
      return undefined
  }
}

/** Rejects rules that would hide the results of another. */
export function checkConflicts({ groups, root }: Compilation): void {
  for (const group of groups) checkMixed(group)
  checkExtent(root)
}

/** A document with computed keys cannot also have a complete rule. */
function checkMixed(group: VirtualDocument): void {
  const whole = group.kind === 'object' ? findWhole(group) : undefined
  if (whole !== undefined)
    throwCompileError(troubleOf(whole), `conflicting rules ${group.name} found`)
}

/**
 * A rule must not lie within the value of another. Conflicts of computed keys are detected during
 * evaluation.
 */
function checkExtent(node: TreeNode): void {
  const children = [...node.children.values()]
  const whole = node.group === undefined ? undefined : findWhole(node.group)
  const inner = whole === undefined ? undefined : children.flatMap(documentsUnder)[0]
  if (whole !== undefined && inner !== undefined)
    throwCompileError(
      troubleOf(whole),
      `rule ${whole.group.name} conflicts with ${describe(inner)}`,
    )
  for (const child of children) checkExtent(child)
}

/** Returns a rule for the whole document rather than for one of its entries. */
function findWhole({ rules, default: fallback }: VirtualDocument): RuleIR | undefined {
  const all = fallback === undefined ? rules : [...rules, fallback]
  return all.find(({ rule }) => groundPrefix(rule.path).length === rule.path.length)
}

function troubleOf({ source, rule }: RuleIR) {
  return { source, at: rule.at, code: 'rego_type_error' } as const
}

function describe({ name, rules, default: fallback }: VirtualDocument): string {
  const first = rules[0] ?? fallback
  const place = first?.source.locate(first.rule.at)
  return place === undefined ? `rule ${name}` : `rule ${name} at ${place.file}:${place.row}`
}

/** Refuses documents that depend on themselves. */
export function checkRecursion(groups: readonly VirtualDocument[]): void {
  const done = new Set<VirtualDocument>()
  for (const group of groups) if (!done.has(group)) search(group, done)
}

interface Visit {
  readonly group: VirtualDocument
  readonly edges: Iterator<[VirtualDocument, SourceLocation | undefined]>
}

/** Depth first without recursion of our own: a chain of rules may be as long as the text allows. */
function search(start: VirtualDocument, done: Set<VirtualDocument>): void {
  const path: Visit[] = [{ group: start, edges: edgesOf(start) }]
  const open = new Set([start])
  for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
    const edge = visit.edges.next()
    if (edge.done === true) {
      path.pop()
      open.delete(visit.group)
      done.add(visit.group)
      continue
    }
    const [group, place] = edge.value
    if (open.has(group)) report(path, group, place)
    if (done.has(group)) continue
    open.add(group)
    path.push({ group, edges: edgesOf(group) })
  }
}

function edgesOf(group: VirtualDocument): Iterator<[VirtualDocument, SourceLocation | undefined]> {
  const below = group.nested.map((entry): [VirtualDocument, undefined] => [entry.group, undefined])
  return [...group.reads, ...below][Symbol.iterator]()
}

function report(
  path: readonly Visit[],
  again: VirtualDocument,
  place: SourceLocation | undefined,
): void {
  const from = path.findIndex(({ group }) => group === again)
  const names = [...path.slice(from).map(({ group }) => group.name), again.name]
  const rule = again.rules[0] ?? again.default
  const where =
    place ?? (rule === undefined ? undefined : { source: rule.source, at: rule.rule.at })
  if (where === undefined) return
  throwCompileError(
    { ...where, code: 'rego_recursion_error' },
    `rule ${again.name} is recursive: ${names.join(' -> ')}`,
  )
}
