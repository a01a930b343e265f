import { parseModule } from '../syntax/parse.ts'
import { Source } from '../syntax/source.ts'
import type { Body, ElseBranch, Import, Literal, Module, Rule, Term, With } from '../syntax/ast.ts'
import { kindOf, objectOf, type Entry, type ObjectValue, type Value } from '../value/value.ts'
import { define, type Builtin } from './builtin.ts'
import { chargeForString } from './operands.ts'

export const PARSE_MODULE_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'rego.parse_module', operands: ['string', 'string'], result: 'object' },
    (context, file, text) => {
      // A token becomes a tree of some dozens of values.
      chargeForString(context, text.length * 16)
      const source = new Source(file, text)
      const module = parseModule(source, 1)
      // Most policies in use are still written in the version before.
      const older = module.ok ? module : parseModule(source, 0)
      if (older.ok) return moduleValue(older.value)
      const { code, message, location } = module.ok ? older.error : module.error
      return context.fail(`${file}:${location.row}: ${code}: ${message}`)
    },
  ),
]

/** Returns a module as data, with the member names that tools for the language use. */
function moduleValue(module: Module): ObjectValue {
  const path = ['data', ...module.package]
  return objectOf([
    ['package', objectOf([['path', pathValue(path)]])],
    ...optional('imports', module.imports.map(importValue)),
    ...optional('rules', module.rules.map(ruleValue)),
  ])
}

/** Omits empty lists. */
function optional(name: string, items: readonly Value[]): readonly Entry[] {
  return items.length === 0 ? [] : [[name, items]]
}

function typed(type: string, value: Value): ObjectValue {
  return objectOf([
    ['type', type],
    ['value', value],
  ])
}

/** The first segment is a variable, the others are strings. */
function pathValue([first = '', ...rest]: readonly string[]): readonly Value[] {
  return [typed('var', first), ...rest.map((name) => typed('string', name))]
}

function importValue({ path, alias }: Import): ObjectValue {
  const entries: Entry[] = [['path', typed('ref', pathValue(path))]]
  return objectOf(alias === undefined ? entries : [...entries, ['alias', alias]])
}

function ruleValue(rule: Rule): ObjectValue {
  const entries: Entry[] = [
    ['head', headValue(rule)],
    ['body', bodyValue(rule.body)],
  ]
  if (rule.isDefault) entries.push(['default', true])
  if (rule.otherwise !== undefined) entries.push(['else', elseValue(rule.otherwise)])
  return objectOf(entries)
}

function headValue({ path, parameters, member, value }: Rule): ObjectValue {
  const [first, ...rest] = path
  const name = first?.type === 'scalar' ? first.value : ''
  const entries: Entry[] = [
    ['ref', [typed('var', name), ...rest.map(termValue)]],
    [member === undefined ? 'value' : 'key', termValue(member ?? value)],
  ]
  if (rest.length === 0) entries.push(['name', name])
  if (parameters !== undefined) entries.push(['args', parameters.map(termValue)])
  return objectOf(entries)
}

function elseValue({ value, body, otherwise }: ElseBranch): ObjectValue {
  const entries: Entry[] = [
    ['head', objectOf([['value', termValue(value)]])],
    ['body', bodyValue(body)],
  ]
  if (otherwise !== undefined) entries.push(['else', elseValue(otherwise)])
  return objectOf(entries)
}

/** A missing body becomes one that is true. */
function bodyValue(body: Body): readonly Value[] {
  if (body.length === 0)
    return [
      objectOf([
        ['index', 0],
        ['terms', typed('boolean', true)],
      ]),
    ]
  return body.map((literal, index) => objectOf([['index', index], ...literalEntries(literal)]))
}

function literalEntries(literal: Literal): readonly Entry[] {
  const replaced = optional('with', literal.with.map(withValue))
  if (literal.type !== 'not') return [['terms', literalTerms(literal)], ...replaced]
  const [only, ...more] = literal.body
  return only !== undefined && more.length === 0
    ? [...literalEntries(only), ['negated', true], ...replaced]
    : [['terms', objectOf([['body', bodyValue(literal.body)]])], ['negated', true], ...replaced]
}

function withValue({ target, value }: With): ObjectValue {
  return objectOf([
    ['target', termValue(target)],
    ['value', termValue(value)],
  ])
}

function literalTerms(literal: Exclude<Literal, { readonly type: 'not' }>): Value {
  switch (literal.type) {
    case 'expression':
      return literal.term.type === 'call'
        ? callTerms(literal.term.name, literal.term.operands)
        : termValue(literal.term)
    case 'unify':
      return callTerms([literal.declares ? 'assign' : 'eq'], [literal.left, literal.right])
    case 'some':
      return objectOf([['symbols', literal.names.map(termValue)]])
    case 'some-in': {
      const { key, value, domain } = literal
      const operands = key === undefined ? [value, domain] : [key, value, domain]
      const member = callTerms(['internal', `member_${operands.length}`], operands)
      return objectOf([['symbols', [typed('call', member)]]])
    }
    case 'every':
      return objectOf([
        ['key', literal.key === undefined ? null : termValue(literal.key)],
        ['value', termValue(literal.value)],
        ['domain', termValue(literal.domain)],
        ['body', bodyValue(literal.body)],
      ])
    default:
      return objectOf([
        ['operator', literal.type],
        ['left', bodyValue(literal.left)],
        ['right', bodyValue(literal.right)],
      ])
  }
}

/** The operator, then the operands. */
function callTerms(name: readonly string[], operands: readonly Term[]): readonly Value[] {
  return [typed('ref', pathValue(name)), ...operands.map(termValue)]
}

function termValue(term: Term): ObjectValue {
  switch (term.type) {
    case 'scalar':
      return typed(kindOf(term.value), term.value)
    case 'var':
      return typed('var', term.name)
    case 'ref':
      return typed('ref', [term.head, ...term.path].map(termValue))
    case 'call':
      return typed('call', callTerms(term.name, term.operands))
    case 'array':
    case 'set':
      return typed(term.type, term.items.map(termValue))
    case 'object':
      return typed(
        'object',
        term.entries.map(([key, value]) => [termValue(key), termValue(value)]),
      )
    case 'comprehension':
      return typed(`${term.makes}comprehension`, comprehensionValue(term))
    case 'template': {
      const parts = term.parts.map((part) =>
        typeof part === 'string' ? typed('string', part) : termValue(part.term),
      )
      return typed('templatestring', objectOf([['parts', parts]]))
    }
  }
}

function comprehensionValue({
  key,
  head,
  body,
}: Extract<Term, { readonly type: 'comprehension' }>): ObjectValue {
  const entries: readonly Entry[] =
    key === undefined
      ? [['term', termValue(head)]]
      : [
          ['key', termValue(key)],
          ['value', termValue(head)],
        ]
  return objectOf([...entries, ['body', bodyValue(body)]])
}
