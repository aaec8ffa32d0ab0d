# ************************************************************
# Test Owner dump of data
# Export date: 2022-06-01 10:00:00
# How to use:
# * create a fresh database
# * run migrations (`php artisan migrate`)
# * import this sql file
# ************************************************************

SET FOREIGN_KEY_CHECKS=0;

INSERT IGNORE INTO `m_accounts` (`id`,`api_key`,`number_of_invitations_sent`) VALUES
 (7,'secret',0);

INSERT IGNORE INTO `m_activities` (`id`,`account_id`,`activity_type_id`,`summary`,`description`,`happened_at`,`created_at`,`updated_at`) VALUES
 (1,7,3,'Lunch at the harbour','We ate \'fish\' soup; INSERT INTO nothing, (really)','2021-05-01','2021-05-02 08:00:00','2021-05-02 08:00:00'),
 (2,7,NULL,'Alone',NULL,'2021-05-03','2021-05-03 08:00:00','2021-05-03 08:00:00');

INSERT IGNORE INTO `m_contacts` (`id`,`account_id`,`first_name`,`middle_name`,`last_name`,`nickname`,`gender_id`,`description`,`uuid`,`is_starred`,`is_partial`,`is_active`,`is_dead`,`deceased_special_date_id`,`deceased_reminder_id`,`last_talked_to`,`stay_in_touch_frequency`,`stay_in_touch_trigger_date`,`birthday_special_date_id`,`birthday_reminder_id`,`first_met_through_contact_id`,`first_met_special_date_id`,`first_met_reminder_id`,`first_met_where`,`first_met_additional_info`,`job`,`company`,`food_preferences`,`avatar_source`,`avatar_gravatar_url`,`avatar_adorable_uuid`,`avatar_adorable_url`,`avatar_default_url`,`avatar_photo_id`,`has_avatar`,`avatar_external_url`,`avatar_file_name`,`avatar_location`,`gravatar_url`,`last_consulted_at`,`number_of_views`,`created_at`,`updated_at`,`default_avatar_color`,`has_avatar_bool`) VALUES
 (11,7,'Ida','Marie','O\'Holm',NULL,2,'Sails.\nReads \\ writes.','000000c0-0000-4000-8000-000000000021',1,0,1,0,NULL,NULL,'2021-07-01',30,'2022-02-01 00:00:00',5,41,12,6,NULL,'At the harbour','She was lost','Engineer','Nordlys AS','No nuts','photo',NULL,NULL,NULL,'avatars/1.svg',9,0,NULL,NULL,'public',NULL,'2022-01-01 10:00:00',3,'2020-02-01 12:30:00','2022-05-01 09:00:00','#fdb660',0),
 (12,7,'Ole',NULL,'Holm','Captain',NULL,NULL,NULL,0,0,1,1,7,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'default',NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,'public',NULL,NULL,0,'2020-02-02 12:30:00','2022-05-01 09:00:00','#fdb660',0);

INSERT IGNORE INTO `m_activity_contact` (`activity_id`,`account_id`,`contact_id`) VALUES
 (1,7,11),
 (1,7,12);

INSERT IGNORE INTO `m_activity_types` (`id`,`account_id`,`activity_type_category_id`,`name`,`translation_key`,`location_type`,`created_at`,`updated_at`) VALUES
 (3,7,1,NULL,'ate_restaurant','outside','2020-01-01 00:00:00','2020-01-01 00:00:00');

INSERT IGNORE INTO `m_addresses` (`id`,`account_id`,`place_id`,`contact_id`,`name`,`created_at`,`updated_at`) VALUES
 (1,7,21,11,'home','2020-02-01 12:30:00','2020-02-01 12:30:00');

INSERT IGNORE INTO `m_calls` (`id`,`account_id`,`contact_id`,`called_at`,`content`,`contact_called`,`created_at`,`updated_at`) VALUES
 (1,7,11,'2021-06-01 00:00:00','About the boat',1,'2021-06-01 09:00:00','2021-06-01 09:00:00');

INSERT IGNORE INTO `m_contact_field_types` (`id`,`account_id`,`name`,`fontawesome_icon`,`protocol`,`delible`,`type`,`created_at`,`updated_at`) VALUES
 (1,7,'Email','fa fa-envelope-open-o','mailto:',0,'email','2020-01-01 00:00:00','2020-01-01 00:00:00'),
 (2,7,'Phone','fa fa-volume-control-phone','tel:',0,'phone','2020-01-01 00:00:00','2020-01-01 00:00:00'),
 (3,7,'Telegram','fa fa-telegram','telegram:',0,NULL,'2020-01-01 00:00:00','2020-01-01 00:00:00');

INSERT IGNORE INTO `m_contact_fields` (`id`,`account_id`,`contact_id`,`contact_field_type_id`,`data`,`created_at`,`updated_at`) VALUES
 (1,7,11,1,'ida@example.org','2020-02-01 12:30:00','2020-02-01 12:30:00'),
 (2,7,11,2,+4722334455,'2020-02-01 12:30:00','2020-02-01 12:30:00'),
 (3,7,12,3,'ole_sails','2020-02-01 12:30:00','2020-02-01 12:30:00');

INSERT IGNORE INTO `m_contact_tag` (`contact_id`,`tag_id`,`account_id`,`created_at`,`updated_at`) VALUES
 (11,31,7,NULL,NULL);

INSERT IGNORE INTO `m_conversations` (`id`,`account_id`,`contact_id`,`contact_field_type_id`,`created_at`,`updated_at`) VALUES
 (1,7,12,3,'2021-07-02 10:00:00','2021-07-02 10:00:00');

INSERT IGNORE INTO `m_debts` (`id`,`account_id`,`contact_id`,`in_debt`,`status`,`amount`,`currency_id`,`reason`,`created_at`,`updated_at`) VALUES
 (1,7,11,'yes','inprogress',2500,2,'Tickets','2021-03-03 08:50:00','2021-03-03 08:50:00');

INSERT IGNORE INTO `m_documents` (`id`,`account_id`,`contact_id`,`original_filename`,`new_filename`,`filesize`,`type`,`mime_type`,`number_of_downloads`,`created_at`,`updated_at`) VALUES
 (1,7,11,'recipe.pdf','documents/x.pdf',10,'pdf','application/pdf',0,'2021-03-03 08:50:00','2021-03-03 08:50:00');

INSERT IGNORE INTO `m_entries` (`id`,`account_id`,`title`,`post`,`created_at`,`updated_at`) VALUES
 (1,7,'A day','It rained.','2021-03-03 08:50:00','2021-03-03 08:50:00');

INSERT IGNORE INTO `m_genders` (`id`,`account_id`,`name`,`type`,`created_at`,`updated_at`) VALUES
 (2,7,'Woman','F','2020-01-01 00:00:00','2020-01-01 00:00:00');

INSERT IGNORE INTO `m_gifts` (`id`,`account_id`,`contact_id`,`name`,`comment`,`url`,`amount`,`currency_id`,`status`,`date`,`created_at`,`updated_at`) VALUES
 (1,7,11,'Compass',NULL,NULL,NULL,NULL,'offered','2021-12-24','2021-03-04 08:51:00','2021-03-04 08:51:00');

INSERT IGNORE INTO `m_life_event_types` (`id`,`account_id`,`life_event_category_id`,`name`,`default_life_event_type_key`,`core_monica_data`,`specific_information_structure`,`created_at`,`updated_at`) VALUES
 (4,7,1,'New job','new_job',1,NULL,'2020-01-01 00:00:00','2020-01-01 00:00:00');

INSERT IGNORE INTO `m_life_events` (`id`,`account_id`,`contact_id`,`life_event_type_id`,`reminder_id`,`name`,`note`,`happened_at`,`happened_at_month_unknown`,`happened_at_day_unknown`,`specific_information`,`created_at`,`updated_at`) VALUES
 (1,7,11,4,NULL,'Joined Nordlys','At last','2018-08-01 00:00:00',0,1,NULL,'2021-03-19 08:06:00','2021-03-19 08:06:00');

INSERT IGNORE INTO `m_messages` (`id`,`account_id`,`contact_id`,`conversation_id`,`content`,`written_at`,`written_by_me`,`created_at`,`updated_at`) VALUES
 (1,7,12,1,'Are you home?','2021-07-02 00:00:00',1,'2021-07-02 10:00:00','2021-07-02 10:00:00'),
 (2,7,12,1,'Yes!','2021-07-02 00:00:00',0,'2021-07-02 10:00:00','2021-07-02 10:00:00');

INSERT IGNORE INTO `m_notes` (`id`,`account_id`,`contact_id`,`body`,`is_favorited`,`favorited_at`,`created_at`,`updated_at`) VALUES
 (1,7,11,'Ask about the boat.
And about \"Rufus\".',1,'2021-04-04 00:00:00','2021-03-05 08:52:00','2021-03-05 08:52:00'),
 (2,7,12,12345,0,NULL,'2021-03-06 08:52:00','2021-03-06 08:52:00');

INSERT IGNORE INTO `m_occupations` (`id`,`account_id`,`contact_id`,`company_id`,`title`,`description`,`salary`,`salary_unit`,`currently_works_here`,`start_date`,`end_date`,`created_at`,`updated_at`) VALUES
 (1,7,12,1,'Pilot',NULL,NULL,NULL,1,NULL,NULL,'2021-03-05 08:52:00','2021-03-05 08:52:00');

INSERT IGNORE INTO `m_pets` (`id`,`account_id`,`contact_id`,`pet_category_id`,`name`,`created_at`,`updated_at`) VALUES
 (1,7,11,4,'Rufus','2021-03-05 08:52:00','2021-03-05 08:52:00');

INSERT IGNORE INTO `m_photos` (`id`,`account_id`,`original_filename`,`new_filename`,`filesize`,`mime_type`,`created_at`,`updated_at`) VALUES
 (9,7,'ida.png','photos/ida.png',900,'image/png','2021-03-05 08:52:00','2021-03-05 08:52:00');

INSERT IGNORE INTO `m_places` (`id`,`account_id`,`street`,`city`,`province`,`postal_code`,`country`,`latitude`,`longitude`,`created_at`,`updated_at`) VALUES
 (21,7,'Havnegata 3','Bergen','Vestland',05003,'NO',60.39,5.32,'2020-02-01 12:30:00','2020-02-01 12:30:00');

INSERT IGNORE INTO `m_relationship_types` (`id`,`account_id`,`name`,`name_reverse_relationship`,`relationship_type_group_id`,`delible`,`created_at`,`updated_at`) VALUES
 (8,7,'parent','child',2,0,NULL,NULL),
 (9,7,'child','parent',2,0,NULL,NULL),
 (10,7,'skipper','deckhand',2,1,NULL,NULL);

INSERT IGNORE INTO `m_relationships` (`id`,`account_id`,`relationship_type_id`,`contact_is`,`of_contact`,`created_at`,`updated_at`) VALUES
 (1,7,8,11,12,NULL,NULL),
 (2,7,9,12,11,NULL,NULL),
 (3,7,10,11,12,NULL,NULL),
 (4,7,8,11,99,NULL,NULL);

INSERT IGNORE INTO `m_reminders` (`id`,`account_id`,`contact_id`,`initial_date`,`title`,`description`,`frequency_type`,`frequency_number`,`delible`,`inactive`,`created_at`,`updated_at`) VALUES
 (41,7,11,'2019-05-17','Wish happy birthday to Ida',NULL,'year',1,0,0,'2021-03-07 08:54:00','2021-03-07 08:54:00'),
 (42,7,12,'2021-01-04','Coffee',NULL,'week',1,1,0,'2021-03-08 08:54:00','2021-03-08 08:54:00');

INSERT IGNORE INTO `m_special_dates` (`id`,`account_id`,`contact_id`,`uuid`,`is_age_based`,`is_year_unknown`,`date`,`created_at`,`updated_at`) VALUES
 (5,7,11,'000000e0-0000-4000-8000-000000000021',0,1,'2019-05-17','2020-02-01 12:30:00','2020-02-01 12:30:00'),
 (6,7,11,'000000e0-0000-4000-8000-000000000022',0,0,'2015-08-09','2020-02-01 12:30:00','2020-02-01 12:30:00'),
 (7,7,12,'000000e0-0000-4000-8000-000000000023',0,0,'2021-11-20','2020-02-01 12:30:00','2020-02-01 12:30:00');

INSERT IGNORE INTO `m_tags` (`id`,`account_id`,`name`,`name_slug`,`description`,`created_at`,`updated_at`) VALUES
 (31,7,'sailing','sailing',NULL,NULL,NULL);

INSERT IGNORE INTO `m_tasks` (`id`,`account_id`,`contact_id`,`uuid`,`title`,`description`,`completed`,`completed_at`,`created_at`,`updated_at`) VALUES
 (1,7,12,'000000e0-0000-4000-8000-000000000024','Find a plumber',NULL,1,'2021-09-09 11:00:00','2021-03-12 08:59:00','2021-03-12 08:59:00');

INSERT IGNORE INTO `m_contact_photo` (`contact_id`, `photo_id`, `created_at`, `updated_at`) VALUES
 (11,9,'2021-03-05 08:52:00','2021-03-05 08:52:00');

SET FOREIGN_KEY_CHECKS=1;
