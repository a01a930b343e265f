export { aliasesOf } from './all.ts'
export { NO_ALIASES } from './aliases.ts'
export { knownEnvironment } from './environment.ts'
export { askedPath, ownPath } from './paths.ts'
export type {
  Aliases,
  CommandLineAliases,
  GovernanceAliases,
  HttpAliases,
  JobFileAliases,
  MetricAliases,
  RuleAliases,
  TaskAliases,
} from './aliases.ts'
