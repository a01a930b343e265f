import { NESTING_DEPTH_MAX } from '../limits.ts'
import type { Rule } from '../syntax/ast.ts'
import { checkConflicts } from './checks.ts'
import type { VirtualDocument, RuleIR, TreeNode } from './ir.ts'
import { ensureNode, groundPrefix } from './rule-tree.ts'
import { packageKey, throwCompileError, type Compilation, type Unit } from './unit.ts'

/** Puts the rules of all modules into the tree, each with the others of its document. */
export function collectRules(compilation: Compilation, units: readonly Unit[]): void {
  for (const unit of units) collectNames(compilation, unit)
  for (const unit of units)
    for (const rule of unit.module?.rules ?? []) collectRule(compilation, unit, rule)
  checkConflicts(compilation)
  nestDocuments(compilation.root, [])
}

function collectNames(compilation: Compilation, unit: Unit): void {
  const key = packageKey(unit.package)
  const names = compilation.names.get(key) ?? new Set()
  compilation.names.set(key, names)
  for (const rule of unit.module?.rules ?? []) names.add(groundPrefix(rule.path)[0] ?? '')
  // A package without rules is still an empty document.
  ensureNode(compilation.root, unit.package)
}

function collectRule(compilation: Compilation, unit: Unit, rule: Rule): void {
  const prefix = groundPrefix(rule.path)
  const path = [...unit.package, ...prefix]
  const trouble = { source: unit.source, at: rule.at }
  if (path.length > NESTING_DEPTH_MAX)
    throwCompileError(trouble, 'the path of the rule is too long')
  if (unit.version === 1 && (prefix[0] === 'input' || prefix[0] === 'data'))
    throwCompileError(trouble, `rules must not shadow ${prefix[0]} (use a different rule name)`)
  const node = ensureNode(compilation.root, path)
  node.group ??= makeGroup(compilation, node)
  const { group } = node
  const kind = kindOf(rule, prefix.length)
  const ir: RuleIR = {
    source: unit.source,
    rule,
    group,
    slotCount: 0,
    parameters: [],
    suffix: [],
    member: undefined,
    definition: undefined,
  }
  if (rule.isDefault) {
    if (group.default !== undefined)
      throwCompileError(
        { ...trouble, code: 'rego_type_error' },
        `multiple default rules ${group.name} found`,
      )
    if (kind === 'object') throwCompileError(trouble, 'the path of a default rule must be constant')
    group.default = ir
  } else group.rules.push(ir)
  setKind(group, kind, ir)
}

function kindOf(rule: Rule, prefixLength: number): VirtualDocument['kind'] {
  // Without parameters a function is a document that may also be called.
  if (rule.parameters !== undefined && rule.parameters.length > 0) return 'function'
  if (prefixLength < rule.path.length) return 'object'
  return rule.member === undefined ? 'complete' : 'set'
}

function makeGroup(compilation: Compilation, node: TreeNode): VirtualDocument {
  const group: VirtualDocument = {
    id: compilation.groups.length,
    path: node.path,
    name: ['data', ...node.path].join('.'),
    kind: 'complete',
    rules: [],
    default: undefined,
    arity: -1,
    nested: [],
    reads: new Map(),
  }
  compilation.groups.push(group)
  return group
}

function setKind(group: VirtualDocument, kind: VirtualDocument['kind'], ir: RuleIR): void {
  const isFirst = group.arity === -1
  const arity = ir.rule.parameters?.length ?? 0
  const trouble = { source: ir.source, at: ir.rule.at, code: 'rego_type_error' } as const
  if (isFirst) {
    group.kind = kind
    group.arity = arity
    return
  }
  if (group.kind === kind && group.arity === arity) return
  // Entries of a constant path and rules with computed keys make one object together.
  if (group.kind === 'function' || kind === 'function' || !isObjectMix(group.kind, kind))
    throwCompileError(trouble, `conflicting rules ${group.name} found`)
  group.kind = 'object'
}

function isObjectMix(a: VirtualDocument['kind'], b: VirtualDocument['kind']): boolean {
  return (a === 'object' && b === 'object') || (a === 'object') !== (b === 'object')
}

/** Documents below an object are its entries. */
function nestDocuments(node: TreeNode, above: readonly VirtualDocument[]): void {
  const { group } = node
  if (group !== undefined && group.kind !== 'function')
    for (const object of above)
      object.nested.push({ path: group.path.slice(object.path.length), group })
  const next = group?.kind === 'object' ? [...above, group].slice(-1) : above
  for (const child of node.children.values()) nestDocuments(child, next)
}
