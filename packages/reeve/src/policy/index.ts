// tidy-allow dead-export: enforcement on jobs and runs is its next reader
export { namespaceTenant, organizationTenant } from './asker.ts'
export type {
  AskedSubject,
  AskingOrigin,
  AskingPurpose,
  InputProblem,
  InspectedPlan,
  PlanFacts,
  PolicyAsker,
} from './asker.ts'
export { policyDocument, subjectOfInput } from './given-input.ts'
export { inspectPlan, isObject, newPlanOf, planOf, readPlan } from './plan-document.ts'
export { Secrets, withoutSecrets } from './mask-secrets.ts'
export { redactPlan, sensitiveTexts } from './redact-plan.ts'
export { writeBundle, type PolicyBundle } from './bundle.ts'
export { Judge } from './judge.ts'
export type { AskedPolicy, Diagnostic, JudgeOptions, Judgement, PolicyText } from './judgement.ts'
export { POLICY_STEPS_MAX } from './limits.ts'
export { readManifest, type Manifest, type ManifestMock, type ManifestPolicy } from './manifest.ts'
export {
  adviceForImport,
  concernOf,
  globalsIn,
  importSpellings,
  isKnownImport,
  NativeData,
  skipReason,
} from './native-data.ts'
export { opaQuery, withData } from './opa-query.ts'
export type { JobSubject, PlainObject, PlanSubject, Subject } from './subject.ts'
export {
  effectiveLevel,
  objectionText,
  outcomeOf,
  verdictOf,
  weightOf,
  type AppliedPolicy,
  type EnforcementLevel,
  type JudgedSet,
  type Objection,
  type Verdict,
} from './verdict.ts'
export {
  readSetArchive,
  type ArchivedPolicy,
  type ArchivedSet,
  type ArchiveProblem,
  type SetArchive,
} from './set-archive.ts'
export type { ArchiveHost } from './bundled-code.ts'
export { MANIFEST_FILES, type SetManifest } from './set-manifest.ts'
