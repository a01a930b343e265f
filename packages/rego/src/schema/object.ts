import { formatText } from '../value/format.ts'
import { compilePattern, chargeSearch } from '../pattern/pattern.ts'
import { isArray, ObjectValue, type Value } from '../value/value.ts'
import { limitAt } from './scalar.ts'
import { isValid, report, type Place, type Validation } from './validation.ts'

type ObjectPlace = Omit<Place, 'value'> & { readonly value: ObjectValue }

export function checkObject(validation: Validation, place: ObjectPlace): void {
  const { schema, value, path } = place
  const required = schema.get('required')
  for (const name of isArray(required) ? required : [])
    if (!value.has(name))
      report(validation, path, { type: 'required', description: `${formatText(name)} is required` })
  const min = limitAt(schema, 'minProperties')
  if (min !== undefined && value.size < min)
    report(validation, path, {
      type: 'array_min_properties',
      description: `Must have at least ${min} properties`,
    })
  const max = limitAt(schema, 'maxProperties')
  if (max !== undefined && value.size > max)
    report(validation, path, {
      type: 'array_max_properties',
      description: `Must have at most ${max} properties`,
    })
  checkDependencies(validation, place)
  for (const [name, item] of value.entries())
    checkProperty(validation, place, [formatText(name), item])
}

function checkDependencies(validation: Validation, { schema, value, path }: ObjectPlace): void {
  const dependencies = schema.get('dependencies')
  if (!(dependencies instanceof ObjectValue)) return
  for (const [name, wanted] of dependencies.entries()) {
    if (!value.has(name)) continue
    if (!isArray(wanted)) {
      validation.check(validation, { schema: wanted, value, path })
      continue
    }
    for (const other of wanted)
      if (!value.has(other))
        report(validation, path, {
          type: 'missing_dependency',
          description: `Has a dependency on ${formatText(other)}`,
        })
  }
}

function checkProperty(
  validation: Validation,
  { schema, path }: ObjectPlace,
  [name, value]: readonly [string, Value],
): void {
  const names = schema.get('propertyNames')
  if (names !== undefined && !isValid(validation, names, { value: name, path }))
    report(validation, path, {
      type: 'invalid_property_name',
      description: `Property name of "${name}" does not match`,
    })
  const inner = [...path, name]
  const own = objectAt(schema, 'properties')?.get(name)
  if (own !== undefined) validation.check(validation, { schema: own, value, path: inner })
  let isMatched = own !== undefined
  for (const [pattern, wanted] of objectAt(schema, 'patternProperties')?.entries() ?? []) {
    const compiled = compilePattern(formatText(pattern))
    if (!compiled.ok) continue
    chargeSearch(validation.context, compiled.value, name.length)
    if (!compiled.value.regex.matcher(name).find()) continue
    isMatched = true
    validation.check(validation, { schema: wanted, value, path: inner })
  }
  const additional = schema.get('additionalProperties')
  if (isMatched || additional === undefined) return
  if (additional === false)
    report(validation, path, {
      type: 'additional_property_not_allowed',
      description: `Additional property ${name} is not allowed`,
    })
  else validation.check(validation, { schema: additional, value, path: inner })
}

function objectAt(schema: ObjectValue, name: string): ObjectValue | undefined {
  const value = schema.get(name)
  return value instanceof ObjectValue ? value : undefined
}
