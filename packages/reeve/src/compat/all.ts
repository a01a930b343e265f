import { NO_ALIASES, type Aliases } from './aliases.ts'
import { GOVERNANCE, GOVERNANCE_ENVIRONMENT } from './governance.ts'
import {
  CERTIFICATES,
  COMMAND_LINE_ENVIRONMENT,
  HTTP,
  JOB_FILE,
  METRICS,
  RULES,
  TASK,
} from './workload.ts'

const ALL_ALIASES: Aliases = {
  http: HTTP,
  governance: GOVERNANCE,
  jobFile: JOB_FILE,
  task: TASK,
  rules: RULES,
  metrics: METRICS,
  certificates: CERTIFICATES,
  commandLine: {
    address: 'REEVE_ADDR',
    environments: [COMMAND_LINE_ENVIRONMENT, GOVERNANCE_ENVIRONMENT],
  },
}

/** Returns the aliases of an agent or a command: all, or none if `compatibility` is off. */
export function aliasesOf(isCompatible: boolean): Aliases {
  return isCompatible ? ALL_ALIASES : NO_ALIASES
}
