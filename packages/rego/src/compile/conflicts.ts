import type { VirtualDocument, RuleIR, TreeNode } from './ir.ts'
import { documentsUnder, groundPrefix } from './tree.ts'
import { throwCompileError, type Compilation } from './unit.ts'

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
