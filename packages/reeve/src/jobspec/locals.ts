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
import { note, noteAll, type Findings } from './findings.ts'

/**
 * The values of all locals, which may be written in any order and use one another. Failures are
 * noted; what depends on them is left out without another word.
 */
export function evaluateLocals(
  attributes: readonly Attribute[],
  scope: Scope,
  findings: Findings,
): ObjectValue {
  const locals = collect(attributes, findings)
  const values = new Map<string, Value>()
  const work: Work = { locals, values, scope, findings }
  let pending = inOrder(work)
  // References whose name is computed are known only by trying, so a failure may pass later.
  for (;;) {
    const failed = pending.filter((local) => !settle(local, work))
    if (failed.length === 0 || failed.length === pending.length || !failed.some(isOpen)) {
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

interface Work {
  readonly locals: ReadonlyMap<string, Local>
  readonly values: Map<string, Value>
  readonly scope: Scope
  readonly findings: Findings
}

function collect(attributes: readonly Attribute[], findings: Findings): ReadonlyMap<string, Local> {
  const locals = new Map<string, Local>()
  for (const attribute of attributes) {
    const { name, nameSpan } = attribute
    const detail = () => `A local named ${quoteText(name)} is already defined.`
    if (locals.has(name)) note(findings, () => errorAt(nameSpan, 'Duplicate local', detail()))
    const references = findReferences(attribute.expression).filter(({ root }) => root === 'local')
    locals.set(name, { name, attribute, references })
  }
  return locals
}

/** `local[var.name]`: which one it is cannot be seen. */
function isOpen({ references }: Local): boolean {
  return references.some(({ path }) => typeof path[0] !== 'string')
}

function namesOf({ references }: Local): readonly string[] {
  return references.flatMap(({ path: [first] }) => (typeof first === 'string' ? [first] : []))
}

/**
 * Each local after those it names; those in a circle, and those that name what does not exist, are
 * noted and left out. A list of work instead of recursion: chains may be as long as the file.
 */
function inOrder(work: Work): readonly Local[] {
  const order: Local[] = []
  const state = new Map<string, 'open' | 'done'>()
  for (const start of work.locals.values()) {
    const path: { readonly local: Local; readonly names: string[] }[] = []
    const enter = (local: Local) => {
      state.set(local.name, 'open')
      path.push({ local, names: namesOf(local).toReversed() })
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
      else if (state.get(name) === 'open') reportCircle(top.local, name, work)
      else if (!state.has(name)) enter(next)
    }
  }
  return order
}

function reportUnknown(local: Local, name: string, { locals, findings }: Work): void {
  const make = (): Diagnostic => {
    const hint = didYouMean(name, locals.keys())
    const detail = `There is no local named ${quoteText(name)}.${hint}`
    return errorAt(spanOf(local, name), 'Unknown local', detail)
  }
  note(findings, make)
}

function reportCircle(local: Local, name: string, { findings }: Work): void {
  const detail = () =>
    `The local ${quoteText(local.name)} refers to ${quoteText(name)}, which depends on it.`
  note(findings, () => errorAt(spanOf(local, name), 'Circular reference', detail()))
}

function spanOf({ references, attribute }: Local, name: string) {
  return references.find(({ path }) => path[0] === name)?.span ?? attribute.nameSpan
}

/** False when it has no value yet. */
function settle(local: Local, work: Work): boolean {
  if (namesOf(local).some((name) => !work.values.has(name))) return false
  const result = evaluate(local.attribute.expression, scopeFor(local, work))
  if (result.ok) work.values.set(local.name, result.value)
  return result.ok
}

/** Only what it names: copying all for each would be quadratic. */
function scopeFor(local: Local, { values, scope }: Work): Scope {
  const names = isOpen(local) ? [...values.keys()] : namesOf(local)
  const entries = names.flatMap((name) => {
    const value = values.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return childScope(scope, { local: makeObject(entries) })
}

function reportFailure(local: Local, work: Work): void {
  // What it lacks has been noted where it failed.
  if (namesOf(local).some((name) => !work.values.has(name))) return
  const result = evaluate(local.attribute.expression, scopeFor(local, work))
  if (!result.ok) noteAll(work.findings, result.error)
}
