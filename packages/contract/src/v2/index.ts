export { v2Routes, type V2RouteId, type V2Routes } from './routes.ts'

export {
  BASE_PATH,
  ERROR_TITLES,
  ErrorDocument,
  ErrorObject,
  IncludedResource,
  JSON_API_TYPE,
  BINARY_TYPE,
  BinaryBody,
  PageLinks,
  Pagination,
  StatusCounts,
} from './json-api.ts'
export * from './limits.ts'
export {
  DURATION_PATTERN,
  EMAIL_PATTERN,
  ID_ALPHABET,
  ID_PREFIXES,
  POLICY_NAME_PATTERN,
  PROJECT_NAME_PATTERN,
  RESERVED_TAG_KEY_PATTERN,
  TAG_KEY_PATTERN,
  TAG_VALUE_PATTERN,
  isDependentEnum,
  validationMessage,
  type PrefixedType,
  type ValidationMessages,
} from './patterns.ts'

export * from './audit-trail.ts'
export * from './configuration-version.ts'
export * from './notification-configuration.ts'
export * from './organization-membership.ts'
export * from './organization.ts'
export * from './policy-check.ts'
export * from './policy-dry-run.ts'
export * from './policy-evaluation.ts'
export * from './policy-trial.ts'
export * from './policy-set-members.ts'
export * from './policy-set-parameter.ts'
export * from './policy-set-version.ts'
export * from './policy-set.ts'
export * from './policy.ts'
export * from './project.ts'
export * from './reserved-tag-key.ts'
export * from './run-apply.ts'
export * from './run-event.ts'
export * from './run-phase.ts'
export * from './run-plan.ts'
export * from './run-queue.ts'
export * from './run-trigger.ts'
export * from './run.ts'
export * from './state-version.ts'
export * from './tag-binding.ts'
export * from './task-stage.ts'
export * from './team-access.ts'
export * from './team.ts'
export * from './token.ts'
export * from './user.ts'
export * from './variable-set.ts'
export * from './workspace-variable.ts'
export * from './workspace.ts'
