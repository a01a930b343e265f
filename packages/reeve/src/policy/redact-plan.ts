import { MASK, Secrets } from './mask-secrets.ts'
import { isObject, listOf, objectOf } from './plan-document.ts'
import type { PlainObject } from './subject.ts'

/** Values that are looked for in what policies say. */
const SECRETS_MAX = 1_000

type Plain = Readonly<Record<string, unknown>>

/**
 * The plan as the API shows it: what `before_sensitive`, `after_sensitive`, `sensitive_values` and
 * `sensitive` mark is masked. Policies get the plan as it is.
 */
export function redactPlan(plan: PlainObject): Plain {
  return new Redaction().plan(plan)
}

/** The values that `redactPlan` hides, as texts. */
export function sensitiveTexts(plan: PlainObject): readonly string[] {
  const redaction = new Redaction()
  redaction.plan(plan)
  return redaction.found.texts()
}

class Redaction {
  readonly found = new Secrets(SECRETS_MAX)

  plan(plan: Plain): Plain {
    return {
      ...plan,
      ...this.#mapped(plan, 'resource_changes', (list) => listOf(list).map(this.#entry)),
      ...this.#mapped(plan, 'resource_drift', (list) => listOf(list).map(this.#entry)),
      ...this.#mapped(plan, 'output_changes', (map) => eachOf(map, this.#change)),
      ...this.#mapped(plan, 'planned_values', this.#values),
      ...this.#mapped(plan, 'prior_state', (state) => ({
        ...objectOf(state),
        ...this.#mapped(objectOf(state), 'values', this.#values),
      })),
      ...this.#mapped(plan, 'variables', (map) => this.#variables(map, plan)),
      ...this.#mapped(plan, 'configuration', (configuration) => ({
        ...objectOf(configuration),
        ...this.#mapped(objectOf(configuration), 'root_module', this.#declarations),
      })),
    }
  }

  #mapped(owner: Plain, name: string, map: (value: unknown) => unknown): Plain {
    return owner[name] === undefined || owner[name] === null ? {} : { [name]: map(owner[name]) }
  }

  readonly #entry = (entry: unknown): unknown =>
    isObject(entry) ? { ...entry, ...this.#mapped(entry, 'change', this.#change) } : entry

  readonly #change = (change: unknown): unknown => {
    if (!isObject(change)) return change
    const { before, after } = change
    return {
      ...change,
      ...(before === undefined ? {} : { before: this.#masked(before, change['before_sensitive']) }),
      ...(after === undefined ? {} : { after: this.#masked(after, change['after_sensitive']) }),
    }
  }

  /** A values representation: outputs and modules. */
  readonly #values = (values: unknown): unknown => {
    if (!isObject(values)) return values
    return {
      ...values,
      ...this.#mapped(values, 'outputs', (map) =>
        eachOf(map, (output) =>
          isObject(output) && output['sensitive'] === true
            ? { ...output, value: this.#hidden(output['value']) }
            : output,
        ),
      ),
      ...this.#mapped(values, 'root_module', this.#module),
    }
  }

  readonly #module = (module: unknown): unknown => {
    if (!isObject(module)) return module
    return {
      ...module,
      ...this.#mapped(module, 'resources', (list) =>
        listOf(list).map((one) =>
          isObject(one)
            ? { ...one, values: this.#masked(one['values'], one['sensitive_values']) }
            : one,
        ),
      ),
      ...this.#mapped(module, 'child_modules', (list) => listOf(list).map(this.#module)),
    }
  }

  /** Whether a variable is sensitive stands where it is declared. */
  #variables(map: unknown, plan: Plain): unknown {
    const root = objectOf(objectOf(plan['configuration'])['root_module'])
    const declared = objectOf(root['variables'])
    return Object.fromEntries(
      Object.entries(objectOf(map)).map(([name, variable]): [string, unknown] => {
        const isSensitive = objectOf(declared[name])['sensitive'] === true
        if (!isSensitive || !isObject(variable)) return [name, variable]
        return [name, { ...variable, value: this.#hidden(variable['value']) }]
      }),
    )
  }

  /** A module's configuration: what its sensitive variables are unless something is given. */
  readonly #declarations = (module: unknown): unknown => {
    if (!isObject(module)) return module
    return {
      ...module,
      ...this.#mapped(module, 'variables', (map) =>
        eachOf(map, (variable) =>
          isObject(variable) && variable['sensitive'] === true && 'default' in variable
            ? { ...variable, default: this.#hidden(variable['default']) }
            : variable,
        ),
      ),
      ...this.#mapped(module, 'module_calls', (map) =>
        eachOf(map, (call) =>
          isObject(call) ? { ...call, ...this.#mapped(call, 'module', this.#declarations) } : call,
        ),
      ),
    }
  }

  /** `mark` is true, or has the shape of the value with true where something is sensitive. */
  #masked(value: unknown, mark: unknown): unknown {
    if (mark === true) return this.#hidden(value)
    if (Array.isArray(value) && Array.isArray(mark))
      return value.map((item, i) => this.#masked(item, mark[i]))
    if (!isObject(value) || !isObject(mark)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, part]): [string, unknown] => [
        name,
        this.#masked(part, Object.hasOwn(mark, name) ? mark[name] : undefined),
      ]),
    )
  }

  #hidden(value: unknown): unknown {
    // That there is nothing is no secret.
    if (value === null || value === undefined) return null
    this.found.add(value)
    return MASK
  }
}

function eachOf(map: unknown, change: (value: unknown) => unknown): unknown {
  return Object.fromEntries(
    Object.entries(objectOf(map)).map(([name, value]): [string, unknown] => [name, change(value)]),
  )
}
