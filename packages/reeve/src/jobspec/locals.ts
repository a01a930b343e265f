import {
  childScope,
  didYouMean,
  errorAt,
  evaluate,
  findReferences,
  makeObject,
  quoteText,
  type Attribute,
  type Diagnostic,
  type ObjectValue,
  type Reference,
  type Scope,
  type Value,
} from '@reeve/hcl'
import { report, reportAll, type DiagnosticList } from './diagnostics.ts'

/**
 * Evaluates all locals, which may reference each other in any order. Errors are reported;
 * dependents of a failed local are omitted without further errors.
 */
export function evaluateLocals(
  attributes: readonly Attribute[],
  scope: Scope,
  findings: DiagnosticList,
): ObjectValue {
  const locals = collectLocals(attributes, findings)
  const values = new Map<string, Value>()
  const work: LocalsContext = { locals, values, scope, findings }
  let pending = sortByDependency(work)
  // References with computed names are only discovered by evaluation, so failed locals are retried.
  for (;;) {
    const failed = pending.filter((local) => !tryEvaluate(local, work))
    if (
      failed.length === 0 ||
      failed.length === pending.length ||
      !failed.some(hasComputedReference)
    ) {
      for (const local of failed) reportFailure(local, work)
      return makeObject(values)
    }
    pending = failed
  }
}

interface Local {
  readonly name: string
  readonly attribute: Attribute
  readonly references: readonly Reference[]
}

interface LocalsContext {
  readonly locals: ReadonlyMap<string, Local>
  readonly values: Map<string, Value>
  readonly scope: Scope
  readonly findings: DiagnosticList
}

function collectLocals(
  attributes: readonly Attribute[],
  findings: DiagnosticList,
): ReadonlyMap<string, Local> {
  const locals = new Map<string, Local>()
  for (const attribute of attributes) {
    const { name, nameSpan } = attribute
    const detail = () => `A local named ${quoteText(name)} is already defined.`
    if (locals.has(name)) report(findings, () => errorAt(nameSpan, 'Duplicate local', detail()))
    const references = findReferences(attribute.expression).filter(({ root }) => root === 'local')
    locals.set(name, { name, attribute, references })
  }
  return locals
}

/** For example `local[var.name]`: the referenced local is unknown before evaluation. */
function hasComputedReference({ references }: Local): boolean {
  return references.some(({ path }) => typeof path[0] !== 'string')
}

function referencedNames({ references }: Local): readonly string[] {
  return references.flatMap(({ path: [first] }) => (typeof first === 'string' ? [first] : []))
}

/**
 * Sorts locals by dependency. Locals in a cycle or with unknown references are reported and
 * omitted. A work list instead of recursion: chains may be as long as the file.
 */
function sortByDependency(work: LocalsContext): readonly Local[] {
  const order: Local[] = []
  const state = new Map<string, 'open' | 'done'>()
  for (const start of work.locals.values()) {
    const path: { readonly local: Local; readonly names: string[] }[] = []
    const enter = (local: Local) => {
      state.set(local.name, 'open')
      path.push({ local, names: referencedNames(local).toReversed() })
    }
    if (!state.has(start.name)) enter(start)
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const name = top.names.pop()
      const next = name === undefined ? undefined : work.locals.get(name)
      if (name === undefined) {
        state.set(top.local.name, 'done')
        order.push(top.local)
        path.pop()
      } else if (next === undefined) reportUnknown(top.local, name, work)
      else if (state.get(name) === 'open') reportCycle(top.local, name, work)
      else if (!state.has(name)) enter(next)
    }
  }
  return order
}

function reportUnknown(local: Local, name: string, { locals, findings }: LocalsContext): void {
  const make = (): Diagnostic => {
    const hint = didYouMean(name, locals.keys())
    const detail = `There is no local named ${quoteText(name)}.${hint}`
    return errorAt(referenceSpan(local, name), 'Unknown local', detail)
  }
  report(findings, make)
}

function reportCycle(local: Local, name: string, { findings }: LocalsContext): void {
  const detail = () =>
    `The local ${quoteText(local.name)} refers to ${quoteText(name)}, which depends on it.`
  report(findings, () => errorAt(referenceSpan(local, name), 'Circular reference', detail()))
}

function referenceSpan({ references, attribute }: Local, name: string) {
  return references.find(({ path }) => path[0] === name)?.span ?? attribute.nameSpan
}

/** Returns false if the local has no value yet. */
function tryEvaluate(local: Local, work: LocalsContext): boolean {
  if (referencedNames(local).some((name) => !work.values.has(name))) return false
  const result = evaluate(local.attribute.expression, scopeFor(local, work))
  if (result.ok) work.values.set(local.name, result.value)
  return result.ok
}

/** Contains only referenced locals: copying all of them for each would be quadratic. */
function scopeFor(local: Local, { values, scope }: LocalsContext): Scope {
  const names = hasComputedReference(local) ? [...values.keys()] : referencedNames(local)
  const entries = names.flatMap((name) => {
    const value = values.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return childScope(scope, { local: makeObject(entries) })
}

function reportFailure(local: Local, work: LocalsContext): void {
  // The failure of a referenced local is already reported.
  if (referencedNames(local).some((name) => !work.values.has(name))) return
  const result = evaluate(local.attribute.expression, scopeFor(local, work))
  if (!result.ok) reportAll(work.findings, result.error)
}
