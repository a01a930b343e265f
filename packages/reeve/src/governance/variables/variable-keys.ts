import type { RunVariableRow } from '../../model/index.ts'

const CONFIGURATION_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/
const ENVIRONMENT_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Environment variables that would change the programs, files or credentials that a run uses. */
const RESERVED_ENVIRONMENT = [
  /^TF_CLI_CONFIG_FILE$/,
  /^TF_DATA_DIR$/,
  /^TF_CLI_ARGS(?!_(?:plan|apply)$)/,
  /^TF_REATTACH_PROVIDERS$/,
  /^LD_/,
  /^(?:PATH|HOME)$/,
  /^REEVE_/,
]

/** Returns why a variable cannot have this key; undefined if it can. */
export function keyProblem(category: RunVariableRow['category'], key: string): string | undefined {
  if (category === 'env') {
    if (!ENVIRONMENT_KEY.test(key)) return 'Key may only contain letters, numbers and _'
    if (RESERVED_ENVIRONMENT.some((pattern) => pattern.test(key)))
      return `Key ${key} is set by the run itself and cannot be a variable`
    return undefined
  }
  return CONFIGURATION_KEY.test(key) ? undefined : 'Key may only contain letters, numbers, - and _'
}
