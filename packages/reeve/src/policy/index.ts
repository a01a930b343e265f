// tidy-allow dead-export: enforcement on jobs and runs is its next reader
export { namespaceTenant, organizationTenant } from './asker.ts'
export type {
  EngineInput,
  EvaluationOrigin,
  EvaluationPurpose,
  InputProblem,
  InspectedPlan,
  PlanSummary,
  PolicyEngine,
} from './asker.ts'
export { policyDocument, toPolicyInput } from './given-input.ts'
export {
  summarizePlan,
  isObject,
  validateNewPlan,
  validatePlan,
  parsePlan,
} from './plan-document.ts'
export { SecretCollector, withoutSecrets } from './mask-secrets.ts'
export { redactPlan, sensitiveValues } from './redact-plan.ts'
export { writeBundle, type PolicyBundle } from './bundle.ts'
export { InProcessEngine } from './judge.ts'
export type {
  PolicyInvocation,
  Diagnostic,
  EngineOptions,
  PolicyResult,
  PolicyDefinition,
} from './judgement.ts'
export { POLICY_STEPS_MAX } from './limits.ts'
export { readManifest, type Manifest, type ManifestMock, type ManifestPolicy } from './manifest.ts'
export {
  importHint,
  inputKindOf,
  hostGlobals,
  importAliases,
  isKnownImport,
  NativeInput,
  skipReason,
} from './native-data.ts'
export { resolveQuery, qualifyQuery } from './opa-query.ts'
export type { JobInput, JsonObject, PlanInput, PolicyInput } from './subject.ts'
export {
  effectiveLevel,
  formatViolation,
  toPolicyOutcome,
  decideEnforcement,
  enforcementEffect,
  type EnforcedPolicy,
  type EnforcementLevel,
  type PolicySetResult,
  type PolicyViolation,
  type EnforcementDecision,
} from './verdict.ts'
export {
  readSetArchive,
  type ArchivedPolicy,
  type ArchiveTarget,
  type ArchiveProblem,
  type SetArchive,
} from './set-archive.ts'
export type { ArchiveHost } from './bundled-code.ts'
export { MANIFEST_FILES, type PolicySetManifest } from './set-manifest.ts'
