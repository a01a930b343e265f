import type { v2 } from '@reeve/contract'

/** Variables that would change which programs and settings the tool uses. */
const RESERVED_VARIABLES =
  /^(?:TF_CLI_CONFIG_FILE|TF_DATA_DIR|TF_REATTACH_PROVIDERS|LD_.*|PATH|HOME|REEVE_.*)$/
const ARGUMENT_VARIABLES = /^TF_CLI_ARGS(?:_(?!plan$|apply$).*)?$/

export interface EnvironmentInput {
  readonly document: v2.PhaseDocument
  readonly home: string
  /** The settings of the tool. */
  readonly configFile: string
  readonly path: string
}

/**
 * Returns the environment of the tool: only the PATH of the node, and the variables of the
 * workspace.
 */
export function toolEnvironment(parts: EnvironmentInput): Readonly<Record<string, string>> {
  const { document, home, configFile, path } = parts
  const { runId, organization, project, workspace } = document
  const runVariables = {
    TFC_RUN_ID: runId,
    TFC_WORKSPACE_NAME: workspace,
    TFC_WORKSPACE_SLUG: `${organization}/${workspace}`,
    TFC_PROJECT_NAME: project,
  }
  return {
    ...Object.fromEntries(allowedVariables(document.variables)),
    ...runVariables,
    ...Object.fromEntries(
      Object.entries(runVariables).map(([name, text]) => [`TF_VAR_${name}`, text]),
    ),
    PATH: path,
    HOME: home,
    TMPDIR: home,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: configFile,
  }
}

function allowedVariables(
  variables: readonly v2.PhaseVariable[],
): readonly (readonly [string, string])[] {
  return variables
    .filter(({ category }) => category === 'env')
    .filter(({ key }) => !isReserved(key))
    .map(({ key, value }) => [key, value] as const)
}

/** Reports whether a variable of a workspace is withheld from the tool. */
function isReserved(name: string): boolean {
  return RESERVED_VARIABLES.test(name) || ARGUMENT_VARIABLES.test(name)
}
