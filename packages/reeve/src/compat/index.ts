export { aliasesOf } from './product-names.ts'
export {
  type Aliases,
  canonicalPath,
  type GovernanceAliases,
  type HttpAliases,
  type JobFileAliases,
  type MetricAliases,
  NO_ALIASES,
  pathAsRequested,
  type RuleAliases,
  type TaskAliases,
  translateEnvironment,
} from './aliases.ts'
