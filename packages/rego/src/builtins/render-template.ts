import {
  ByteBudget,
  GO_FUNCTIONS,
  parseTemplate,
  renderTemplate,
  TemplateError,
  type TemplateValue,
} from '@reeve/go-template'
import { CHARACTERS_PER_STEP, VALUE_DEPTH_MAX } from '../limits.ts'
import { keyText } from '../value/json.ts'
import { LimitExceeded } from '../value/fuel.ts'
import { numberText } from '../value/number.ts'
import { isArray, isNumber, ObjectValue, SetValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString, chargedString } from './operands.ts'

const DELIMITERS = { left: '{{', right: '}}' } as const

export const RENDER_TEMPLATE_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'strings.render_template', operands: ['string', 'object'], result: 'string' },
    (context, source, values) => {
      chargeForString(context, source.length)
      const data = templateValue(context, values, 0)
      try {
        const text = render(context, source, data)
        // Rego has `<undefined>` where the template engine writes `<no value>`.
        return chargedString(context, text.replaceAll('<no value>', '<undefined>'))
      } catch (thrown) {
        if (thrown instanceof TemplateError) return context.fail(`template: ${thrown.message}`)
        throw thrown
      }
    },
  ),
]

/** A template pays for each of its steps, and in the end for the bytes that it went through. */
function render(context: CallContext, source: string, data: TemplateValue): string {
  const functions = GO_FUNCTIONS
  const budget = new ByteBudget()
  try {
    const template = parseTemplate(source, { ...DELIMITERS, functions })
    return renderTemplate(template, { data, functions, budget, onStep: () => context.charge(1) })
  } finally {
    context.charge(Math.ceil(budget.spent / CHARACTERS_PER_STEP))
  }
}

/** Templates see JSON in which numbers are text: they print them, and cannot compare them. */
function templateValue(context: CallContext, value: Value, depth: number): TemplateValue {
  if (depth > VALUE_DEPTH_MAX) throw new LimitExceeded('the value is nested too deeply')
  context.charge(1)
  const inner = (item: Value): TemplateValue => templateValue(context, item, depth + 1)
  if (isNumber(value)) return numberText(value)
  if (isArray(value)) return value.map(inner)
  if (value instanceof SetValue) return value.sorted().map(inner)
  if (value instanceof ObjectValue)
    return new Map(value.entries().map(([key, item]) => [keyText(key), inner(item)]))
  return value
}
