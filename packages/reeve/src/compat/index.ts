export { aliasesOf } from './all.ts'
export { NO_ALIASES } from './aliases.ts'
export { translateEnvironment } from './environment.ts'
export { pathAsRequested, canonicalPath } from './paths.ts'
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
