export {
  type Diagnostic,
  type EngineInput,
  erroredResult,
  type EvaluationOrigin,
  type EvaluationPurpose,
  type InputProblem,
  type InspectedPlan,
  namespaceTenant,
  organizationTenant,
  type PlanSummary,
  type PolicyDefinition,
  type PolicyEngine,
  type PolicyInvocation,
  type PolicyResult,
} from './engine.ts'
export {
  parsePlan,
  policyDocument,
  summarizePlan,
  toPolicyInput,
  validatePlan,
} from './plan-document.ts'
export { redactPlan, SecretCollector, sensitiveValues, withoutSecrets } from './redaction.ts'
export {
  type ArchivedPolicy,
  type ArchiveHost,
  type ArchiveProblem,
  type ArchiveTarget,
  readSetArchive,
  type SetArchive,
} from './set-archive.ts'
export { InProcessEngine } from './in-process-engine.ts'
export { POLICY_STEPS_MAX } from './limits.ts'
export {
  type Manifest,
  MANIFEST_FILES,
  type ManifestMock,
  type PolicySetManifest,
  readManifest,
} from './manifest.ts'
export {
  importHint,
  inputKindOf,
  hostGlobals,
  importAliases,
  isKnownImport,
  NativeInput,
  skipReason,
} from './native-input.ts'
export { resolveQuery, qualifyQuery } from './rego.ts'
export type { JobInput, JsonObject, PlanInput, PolicyInput } from './policy-input.ts'
export {
  formatViolation,
  toPolicyOutcome,
  decideEnforcement,
  enforcementEffect,
  type EnforcementLevel,
  type PolicySetResult,
  type PolicyViolation,
  type EnforcementDecision,
} from './enforcement.ts'
