export { type CronExpression, parseCron } from './parse.ts'
export { nextCronTime, type OffsetAt } from './next.ts'
