// tidy-allow dead-export: enforcement on jobs and runs is its next reader
export type { AskedSubject, PlanFacts, PolicyAsker } from './asker.ts'
export { inspectPlan, isObject, newPlanOf, planOf, readPlan } from './plan-document.ts'
export { redactPlan, sensitiveTexts, withoutSecrets } from './redact-plan.ts'
export { writeBundle, type PolicyBundle } from './bundle.ts'
export { Judge } from './judge.ts'
export type { AskedPolicy, Diagnostic, JudgeOptions, Judgement, PolicyText } from './judgement.ts'
export { readManifest, type Manifest, type ManifestPolicy } from './manifest.ts'
export { adviceForImport, globalsIn, isKnownImport, NativeData } from './native-data.ts'
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
export { MANIFEST_FILES, readSetManifest, type SetManifest } from './set-manifest.ts'
