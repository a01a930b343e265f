import { isArray, setOf, type Value } from '../value/value.ts'
import { limitAt } from './scalar.ts'
import { isValid, report, type Place, type Validation } from './validation.ts'

type ArrayPlace = Omit<Place, 'value'> & { readonly value: readonly Value[] }

export function checkArray(validation: Validation, place: ArrayPlace): void {
  const { schema, value, path } = place
  const min = limitAt(schema, 'minItems')
  if (min !== undefined && value.length < min)
    report(validation, path, {
      type: 'array_min_items',
      description: `Array must have at least ${min} items`,
    })
  const max = limitAt(schema, 'maxItems')
  if (max !== undefined && value.length > max)
    report(validation, path, {
      type: 'array_max_items',
      description: `Array must have at most ${max} items`,
    })
  validation.context.charge(value.length)
  if (schema.get('uniqueItems') === true && setOf(value).size < value.length)
    report(validation, path, { type: 'unique', description: 'array items must be unique' })
  const contains = schema.get('contains')
  if (
    contains !== undefined &&
    !value.some((item, at) =>
      isValid(validation, contains, { value: item, path: [...path, String(at)] }),
    )
  )
    report(validation, path, {
      type: 'contains',
      description: 'At least one of the items must match',
    })
  checkItems(validation, place)
}

/** One schema for all items, or one for each of the first and another for the rest. */
function checkItems(validation: Validation, { schema, value, path }: ArrayPlace): void {
  const items = schema.get('items')
  if (items === undefined) return
  const rest = isArray(items) ? schema.get('additionalItems') : items
  for (const [at, item] of value.entries()) {
    const own = isArray(items) ? items[at] : items
    if (own === undefined && rest === false)
      return report(validation, path, {
        type: 'array_no_additional_items',
        description: 'No additional items allowed on array',
      })
    const wanted = own ?? rest
    if (wanted !== undefined)
      validation.check(validation, { schema: wanted, value: item, path: [...path, String(at)] })
  }
}
