export {
  AuditLog,
  governanceActor,
  organizationOfRequest,
  parseRfc3339,
  successStatus,
  workloadActor,
} from './audit-log.ts'
