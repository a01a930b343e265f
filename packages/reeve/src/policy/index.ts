// tidy-allow dead-export: enforcement on jobs and runs is its next reader
export { Judge } from './judge.ts'
export type { AskedPolicy, Diagnostic, JudgeOptions, Judgement, PolicyText } from './judgement.ts'
export type { JobSubject, PlainObject, PlanSubject, Subject } from './subject.ts'
