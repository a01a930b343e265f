import { MASK, SecretCollector } from './mask-secrets.ts'
import { isObject, asList, asObject } from './plan-document.ts'
import type { JsonObject } from './subject.ts'

/** Maximum number of values that are searched for in policy results. */
const SECRETS_MAX = 1_000

type JsonRecord = Readonly<Record<string, unknown>>

/**
 * Returns the plan with all values redacted that `before_sensitive`, `after_sensitive`,
 * `sensitive_values` and `sensitive` mark. Policies receive the unredacted plan.
 */
export function redactPlan(plan: JsonObject): JsonRecord {
  return new PlanRedactor().plan(plan)
}

/** Returns the texts of the values that `redactPlan` redacts. */
export function sensitiveValues(plan: JsonObject): readonly string[] {
  const redaction = new PlanRedactor()
  redaction.plan(plan)
  return redaction.secrets.encodedValues()
}

class PlanRedactor {
  readonly secrets = new SecretCollector(SECRETS_MAX)

  plan(plan: JsonRecord): JsonRecord {
    return {
      ...plan,
      ...this.#mapField(plan, 'resource_changes', (list) => asList(list).map(this.#entry)),
      ...this.#mapField(plan, 'resource_drift', (list) => asList(list).map(this.#entry)),
      ...this.#mapField(plan, 'output_changes', (map) => mapValues(map, this.#change)),
      ...this.#mapField(plan, 'planned_values', this.#values),
      ...this.#mapField(plan, 'prior_state', (state) => ({
        ...asObject(state),
        ...this.#mapField(asObject(state), 'values', this.#values),
      })),
      ...this.#mapField(plan, 'variables', (map) => this.#variables(map, plan)),
      ...this.#mapField(plan, 'configuration', (configuration) => ({
        ...asObject(configuration),
        ...this.#mapField(asObject(configuration), 'root_module', this.#declarations),
      })),
    }
  }

  #mapField(owner: JsonRecord, name: string, map: (value: unknown) => unknown): JsonRecord {
    return owner[name] === undefined || owner[name] === null ? {} : { [name]: map(owner[name]) }
  }

  readonly #entry = (entry: unknown): unknown =>
    isObject(entry) ? { ...entry, ...this.#mapField(entry, 'change', this.#change) } : entry

  readonly #change = (change: unknown): unknown => {
    if (!isObject(change)) return change
    const { before, after } = change
    return {
      ...change,
      ...(before === undefined
        ? {}
        : { before: this.#redactMarked(before, change['before_sensitive']) }),
      ...(after === undefined
        ? {}
        : { after: this.#redactMarked(after, change['after_sensitive']) }),
    }
  }

  /** Redacts a values representation: outputs and modules. */
  readonly #values = (values: unknown): unknown => {
    if (!isObject(values)) return values
    return {
      ...values,
      ...this.#mapField(values, 'outputs', (map) =>
        mapValues(map, (output) =>
          isObject(output) && output['sensitive'] === true
            ? { ...output, value: this.#redact(output['value']) }
            : output,
        ),
      ),
      ...this.#mapField(values, 'root_module', this.#module),
    }
  }

  readonly #module = (module: unknown): unknown => {
    if (!isObject(module)) return module
    return {
      ...module,
      ...this.#mapField(module, 'resources', (list) =>
        asList(list).map((one) =>
          isObject(one)
            ? { ...one, values: this.#redactMarked(one['values'], one['sensitive_values']) }
            : one,
        ),
      ),
      ...this.#mapField(module, 'child_modules', (list) => asList(list).map(this.#module)),
    }
  }

  /**
   * Redacts variables; whether one is sensitive is part of its declaration in the configuration.
   */
  #variables(map: unknown, plan: JsonRecord): unknown {
    const root = asObject(asObject(plan['configuration'])['root_module'])
    const declared = asObject(root['variables'])
    return Object.fromEntries(
      Object.entries(asObject(map)).map(([name, variable]): [string, unknown] => {
        const isSensitive = asObject(declared[name])['sensitive'] === true
        if (!isSensitive || !isObject(variable)) return [name, variable]
        return [name, { ...variable, value: this.#redact(variable['value']) }]
      }),
    )
  }

  /** Redacts the defaults of sensitive variables in the configuration of a module. */
  readonly #declarations = (module: unknown): unknown => {
    if (!isObject(module)) return module
    return {
      ...module,
      ...this.#mapField(module, 'variables', (map) =>
        mapValues(map, (variable) =>
          isObject(variable) && variable['sensitive'] === true && 'default' in variable
            ? { ...variable, default: this.#redact(variable['default']) }
            : variable,
        ),
      ),
      ...this.#mapField(module, 'module_calls', (map) =>
        mapValues(map, (call) =>
          isObject(call)
            ? { ...call, ...this.#mapField(call, 'module', this.#declarations) }
            : call,
        ),
      ),
    }
  }

  /** `mark` is true, or has the shape of the value with true for each sensitive part. */
  #redactMarked(value: unknown, sensitivity: unknown): unknown {
    if (sensitivity === true) return this.#redact(value)
    if (Array.isArray(value) && Array.isArray(sensitivity))
      return value.map((item, i) => this.#redactMarked(item, sensitivity[i]))
    if (!isObject(value) || !isObject(sensitivity)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, part]): [string, unknown] => [
        name,
        this.#redactMarked(part, Object.hasOwn(sensitivity, name) ? sensitivity[name] : undefined),
      ]),
    )
  }

  #redact(value: unknown): unknown {
    // A missing value is not secret.
    if (value === null || value === undefined) return null
    this.secrets.add(value)
    return MASK
  }
}

function mapValues(map: unknown, change: (value: unknown) => unknown): unknown {
  return Object.fromEntries(
    Object.entries(asObject(map)).map(([name, value]): [string, unknown] => [name, change(value)]),
  )
}
